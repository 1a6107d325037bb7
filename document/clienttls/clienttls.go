// Package clienttls says how Sluice speaks TLS to a server that it asks for itself: one that decides who gets in, a container engine, a
// collector.
//
// What flows in: the options ca, cert, key and insecureSkipVerify as an operator wrote them. What flows out: a [tls.Config] for a
// client. Whatever does not load is an error and never a connection that trusts more than it was told to, and no error holds a key
// or PEM text.
//
// Files are read when New or Load is called, and never again: a certificate that was renewed is used once whoever asks is made
// anew. The [Fingerprint] tells who makes one whether anything that was read differs.
package clienttls

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// Options are the options of a connection, as both the static configuration and the dynamic one have them.
type Options struct {
	// CA holds the authorities that the server's certificate must come from; empty trusts those of the system.
	CA string
	// Cert and Key are what the client presents; both or none.
	Cert, Key string
	// InsecureSkipVerify trusts any server.
	InsecureSkipVerify bool
}

// Fingerprint stands for everything that a configuration was made of, the content of its files included. Two that are equal make
// connections that are equal. The zero value stands for no TLS.
type Fingerprint [sha256.Size]byte

// New returns how a client speaks TLS, and nil when config is nil, which is a client that does not. The option is where config stands
// ("rateLimit.redis.tls"), and errors begin with it.
//
// The values of ca, cert and key are PEM text or the path of a file of it. Without ca the system's authorities are trusted; with it,
// those alone that it holds, of which there must be at least one. The options cert and key belong together. With insecureSkipVerify
// any server is trusted, and ca must still load.
// Versions before TLS 1.2 are not spoken.
//
// Files are read through readFile, at most 4 MiB of each; nil stands for reading regular files from the disk.
func New(option string, config *Options, readFile func(path string) ([]byte, error)) (*tls.Config, error) {
	secured, _, err := Load(option, config, readFile)
	return secured, err
}

// Load is New, and returns the fingerprint of what was read as well.
func Load(option string, config *Options, readFile func(path string) ([]byte, error)) (*tls.Config, Fingerprint, error) {
	if config == nil {
		return nil, Fingerprint{}, nil
	}
	if (config.Cert == "") != (config.Key == "") {
		return nil, Fingerprint{}, fmt.Errorf("%s.cert and %s.key belong together, and one is missing", option, option)
	}
	authorities, err := read(option+".ca", config.CA, readFile)
	if err != nil {
		return nil, Fingerprint{}, err
	}
	certificate, err := read(option+".cert", config.Cert, readFile)
	if err != nil {
		return nil, Fingerprint{}, err
	}
	key, err := read(option+".key", config.Key, readFile)
	if err != nil {
		return nil, Fingerprint{}, err
	}
	secured := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: config.InsecureSkipVerify}
	if authorities != nil {
		secured.RootCAs = x509.NewCertPool()
		if !secured.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, Fingerprint{}, fmt.Errorf("%s.ca (%s) holds no certificate", option, document.DescribePEM(config.CA))
		}
	}
	if certificate != nil {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, Fingerprint{}, fmt.Errorf("%s.cert and %s.key: %w", option, option, err)
		}
		secured.Certificates = []tls.Certificate{pair}
	}
	return secured, fingerprint(config.InsecureSkipVerify, authorities, certificate, key), nil
}

// maxFile is how much is read of one file, in bytes.
const maxFile = 4 << 20

// read returns the PEM text of an option, and nil when it is not set.
func read(option, value string, readFile func(path string) ([]byte, error)) ([]byte, error) {
	if value == "" {
		return nil, nil
	}
	if bareKey(value) {
		return nil, errors.New(option + " is neither a path nor PEM text")
	}
	if readFile == nil || !document.IsPath(value) {
		return document.ReadPEM(option, value)
	}
	text, err := readFile(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: %s is larger than %d bytes", option, value, maxFile)
	}
	return text, nil
}

// shortestKey is below what any private key takes as DER in base64, in bytes.
const shortestKey = 48

// bareKey reports whether a value that should be a path is the inside of a PEM block on one line, which no error may show. DER begins
// with a SEQUENCE (0x30), so its base64 begins with M and never looks like an absolute path.
func bareKey(value string) bool {
	value = strings.TrimSpace(value)
	text := strings.TrimRight(value, "=")
	if text != value { // The end of base64, and of no path that anybody chose.
		return true
	}
	if len(text) < shortestKey || !strings.HasPrefix(text, "M") {
		return false
	}
	_, err := base64.RawStdEncoding.DecodeString(text)
	return err == nil
}

// fingerprint condenses what was read. Each part is preceded by its length, so that no two divisions of the same bytes are equal.
func fingerprint(trustsAll bool, parts ...[]byte) Fingerprint {
	digest := sha256.New()
	if trustsAll {
		_, _ = digest.Write([]byte{1})
	} else {
		_, _ = digest.Write([]byte{0})
	}
	for _, part := range parts {
		_, _ = digest.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = digest.Write(part)
	}
	return Fingerprint(digest.Sum(nil))
}
