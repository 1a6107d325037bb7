// Package clienttls configures TLS for Sluice's own clients: of authentication servers, Redis, container engines and
// collectors. Connections to endpoints are configured by package forward.
//
// Input: the options ca, cert, key and insecureSkipVerify of the static or the dynamic configuration. Output: a
// [tls.Config] for a client. Options that do not load are an error, so that no connection trusts more than was
// configured. No error contains a key or PEM text.
//
// Files are read by New and Load alone. To use a renewed certificate, call Load again; the [Fingerprint] changes when
// anything that was read has changed.
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
	"github.com/sluiceproxy/sluice/dynamic"
)

// Options are the options of a connection. The static configuration has the same fields.
type Options struct {
	// CA is a path or PEM text of the authorities that are trusted; empty means those of the system.
	CA string
	// Cert and Key are paths or PEM text of the certificate that the client presents; both or none.
	Cert, Key string
	// InsecureSkipVerify accepts any certificate of the server.
	InsecureSkipVerify bool
}

// OptionsOf returns the options of a middleware's server. The deprecated caOptional has no meaning for a client and
// is left out. The options of nil are nil.
func OptionsOf(config *dynamic.ClientTLS) *Options {
	if config == nil {
		return nil
	}
	return &Options{CA: config.CA, Cert: config.Cert, Key: config.Key, InsecureSkipVerify: config.InsecureSkipVerify}
}

// Fingerprint is a digest of the options and of the content of their files. The zero value means no TLS.
type Fingerprint [sha256.Size]byte

// New returns the TLS configuration of a client, and nil without options. Errors begin with option, the name of the
// option that config is the value of ("rateLimit.redis.tls").
//
// With ca, only the authorities in it are trusted, of which there must be at least one. With insecureSkipVerify, ca
// must still load. The lowest version is TLS 1.2.
//
// Files are read through readFile, at most 4 MiB of each; nil reads regular files from the disk.
func New(option string, config *Options, readFile func(path string) ([]byte, error)) (*tls.Config, error) {
	secured, _, err := Load(option, config, readFile)
	return secured, err
}

// Load is New, and returns the fingerprint of what was read, too.
func Load(option string, config *Options, readFile func(path string) ([]byte, error)) (*tls.Config, Fingerprint,
	error,
) {
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
		pair, err := document.KeyPair(certificate, key)
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

// bareKey reports whether a value in place of a path is the inside of a PEM block on one line, which no error may show.
// DER begins with a SEQUENCE (0x30), so its base64 begins with M and never looks like an absolute path.
func bareKey(value string) bool {
	value = strings.TrimSpace(value)
	text := strings.TrimRight(value, "=")
	if text != value { // Base64 ends with =, and paths do not.
		return true
	}
	if len(text) < shortestKey || !strings.HasPrefix(text, "M") {
		return false
	}
	_, err := base64.RawStdEncoding.DecodeString(text)
	return err == nil
}

// fingerprint returns a digest of what was read. The length before each part makes the division into parts count.
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
