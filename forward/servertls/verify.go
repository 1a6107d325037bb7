package servertls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

var errDepth = errors.New("there are more intermediate certificates than verifyDepth allows")

// verifyDepth returns the option verifyDepth, nil without.
func verifyDepth(config *dynamic.TCPClientTLS) (*int, error) {
	switch depth := config.VerifyDepth; {
	case depth == nil:
		return nil, nil
	case *depth < 0:
		return nil, fmt.Errorf("verifyDepth %d is negative", *depth)
	case config.InsecureSkipVerify:
		return nil, errors.New("verifyDepth and insecureSkipVerify exclude one another")
	default:
		return depth, nil
	}
}

// within reports whether one of the chains has no more certificates than the depth between its first and its last one.
func within(depth int, chains [][]*x509.Certificate) bool {
	return slices.ContainsFunc(chains, func(chain []*x509.Certificate) bool { return len(chain)-2 <= depth })
}

// withoutName removes the server's name from the settings, which would be sent, and verifies it all the same. That runs
// for every connection, resumed ones too.
func withoutName(settings *tls.Config) {
	name, insecure, further := settings.ServerName, settings.InsecureSkipVerify, settings.VerifyConnection
	settings.ServerName, settings.InsecureSkipVerify = "", true
	settings.VerifyConnection = func(state tls.ConnectionState) (err error) {
		if !insecure {
			if state.VerifiedChains, err = verify(state.PeerCertificates, settings.RootCAs, name); err != nil {
				return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
			}
		}
		if further != nil {
			return further(state)
		}
		return nil
	}
}

// verify verifies the certificates of a server, its own first, as crypto/tls does.
func verify(sent []*x509.Certificate, roots *x509.CertPool, name string) ([][]*x509.Certificate, error) {
	if len(sent) == 0 {
		return nil, errors.New("the server has sent no certificate")
	}
	options := x509.VerifyOptions{Roots: roots, DNSName: name, Intermediates: x509.NewCertPool()}
	for _, certificate := range sent[1:] {
		options.Intermediates.AddCert(certificate)
	}
	return sent[0].Verify(options)
}
