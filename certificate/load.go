package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// digest identifies the content of a certificate with its key.
type digest [sha256.Size]byte

// readPair reads certificate and key without parsing them.
func readPair(c dynamic.Certificate) (certPEM, keyPEM []byte, id digest, err error) {
	certPEM, err = document.ReadPEM("certFile", c.CertFile)
	if err != nil {
		return nil, nil, digest{}, err
	}
	keyPEM, err = document.ReadPEM("keyFile", c.KeyFile)
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
	pair, err := document.KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("certFile %s, keyFile %s: %w", document.DescribePEM(c.CertFile),
			document.DescribePEM(c.KeyFile), err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("certFile %s: %w", document.DescribePEM(c.CertFile), err)
		}
	}
	return &pair, nil
}

// readAuthorities reads the certificate authorities for clients; the text is returned for the fingerprint. A file
// without a certificate is an error.
func readAuthorities(files []string) (authorities []*x509.Certificate, all []byte, err error) {
	for i, value := range files {
		option := fmt.Sprintf("clientAuth.caFiles[%d]", i)
		text, err := document.ReadPEM(option, value)
		if err != nil {
			return nil, nil, err
		}
		found, err := parseAuthorities(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %s: %w", option, document.DescribePEM(value), err)
		}
		authorities, all = append(authorities, found...), append(all, text...)
	}
	return authorities, all, nil
}

func parseAuthorities(text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		authority, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(found)+1, err)
		}
		found = append(found, authority)
	}
	if len(found) == 0 {
		return nil, errors.New("no certificate found")
	}
	return found, nil
}
