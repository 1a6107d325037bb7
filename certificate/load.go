package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// maxFileBytes bounds what is read for one certificate, key or bundle of authorities.
const maxFileBytes = 4 << 20

// inline is how text in place of a path is named, so that no key ends up in an error.
const inline = "inline PEM"

// isInline reports whether the value of an option is PEM text rather than a path.
func isInline(value string) bool { return strings.Contains(value, "-----BEGIN ") }

// describe names the value of an option in errors.
func describe(value string) string {
	if isInline(value) {
		return inline
	}
	return value
}

// read returns the PEM text that the value of an option holds or points to.
func read(option, value string) ([]byte, error) {
	if value == "" {
		return nil, fmt.Errorf("%s is empty, expected a path or PEM text", option)
	}
	if isInline(value) {
		return []byte(value), nil
	}
	if strings.ContainsAny(value, "\r\n") { // It may be a key without its armour, and must not be quoted.
		return nil, fmt.Errorf("%s is neither a path nor PEM text", option)
	}
	file, err := os.Open(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s: %s is larger than %d bytes", option, value, maxFileBytes)
	}
	return text, nil
}

// digest identifies the content of a certificate with its key.
type digest [sha256.Size]byte

// readPair reads certificate and key without parsing them.
func readPair(c dynamic.Certificate) (certPEM, keyPEM []byte, id digest, err error) {
	certPEM, err = read("certFile", c.CertFile)
	if err != nil {
		return nil, nil, digest{}, err
	}
	keyPEM, err = read("keyFile", c.KeyFile)
	if err != nil {
		return nil, nil, digest{}, err
	}
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%d:", len(certPEM))
	_, _ = hash.Write(certPEM)
	_, _ = hash.Write(keyPEM)
	return certPEM, keyPEM, digest(hash.Sum(nil)), nil
}

// parsePair parses certificate and key and checks that they belong together.
func parsePair(c dynamic.Certificate, certPEM, keyPEM []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("certFile %s, keyFile %s: %w", describe(c.CertFile), describe(c.KeyFile), err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("certFile %s: %w", describe(c.CertFile), err)
		}
	}
	return &pair, nil
}

// readAuthorities reads the certificate authorities for clients; the text is returned for the fingerprint.
// A file with nothing usable in it is an error, since fewer authorities than declared must not go unnoticed.
func readAuthorities(files []string) (*x509.CertPool, []byte, error) {
	pool := x509.NewCertPool()
	var all []byte
	for i, value := range files {
		option := fmt.Sprintf("clientAuth.caFiles[%d]", i)
		text, err := read(option, value)
		if err != nil {
			return nil, nil, err
		}
		if err := addAuthorities(pool, text); err != nil {
			return nil, nil, fmt.Errorf("%s: %s: %w", option, describe(value), err)
		}
		all = append(all, text...)
	}
	return pool, all, nil
}

func addAuthorities(pool *x509.CertPool, text []byte) error {
	found := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		authority, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return fmt.Errorf("certificate %d: %w", found+1, err)
		}
		pool.AddCert(authority)
		found++
	}
	if found == 0 {
		return errors.New("no certificate found")
	}
	return nil
}
