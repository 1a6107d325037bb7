package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/sluiceproxy/sluice/static"
)

// clientTLS returns how to speak TLS to a collector; without options the system's authorities are trusted.
func clientTLS(options *static.ClientTLS) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if options == nil {
		return out, nil
	}
	out.InsecureSkipVerify = options.InsecureSkipVerify
	if options.CA != "" {
		authorities, err := material(options.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.ca: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, errors.New("tls.ca: holds no certificate")
		}
	}
	if options.Cert == "" && options.Key == "" {
		return out, nil
	}
	certificate, err := material(options.Cert)
	if err != nil {
		return nil, fmt.Errorf("tls.cert: %w", err)
	}
	key, err := material(options.Key)
	if err != nil {
		return nil, fmt.Errorf("tls.key: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
	}
	out.Certificates = []tls.Certificate{pair}
	return out, nil
}

// material returns the content of a file, or what is given in its place.
func material(value string) ([]byte, error) {
	switch {
	case value == "":
		return nil, errors.New("is missing, and cert and key belong together")
	case strings.Contains(value, "-----BEGIN"):
		return []byte(value), nil
	}
	content, err := os.ReadFile(value)
	if failure, ok := errors.AsType[*fs.PathError](err); ok && strings.ContainsAny(value, "\n=") {
		return nil, failure.Err // What was meant as a key must not be told as the name of a file.
	}
	return content, err
}
