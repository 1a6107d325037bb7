package servertls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

var errPeerName = errors.New("the certificate carries none of the names of peerCertSANs and peerCertURI")

// peerNames are the accepted names of a server's certificate: it must carry one of them (peerCertSANs,
// peerCertURI).
type peerNames struct {
	uris []string
	dns  []string
}

func newPeerNames(config *dynamic.TCPClientTLS) (*peerNames, error) {
	names := &peerNames{}
	if config.PeerCertURI != "" {
		names.uris = append(names.uris, config.PeerCertURI)
	}
	for i, san := range config.PeerCertSANs {
		switch {
		case san.Value == "":
			return nil, fmt.Errorf("peerCertSANs[%d].value is empty", i)
		case strings.EqualFold(san.Type, "URI"):
			names.uris = append(names.uris, san.Value)
		case strings.EqualFold(san.Type, "DNSName"):
			names.dns = append(names.dns, san.Value)
		default:
			return nil, fmt.Errorf("peerCertSANs[%d].type: unknown value %q, expected DNSName or URI", i, san.Type)
		}
	}
	if len(names.uris)+len(names.dns) == 0 {
		return nil, nil
	}
	return names, nil
}

// verify runs for every connection, resumed ones too. The names prove nothing without a trusted issuer, so
// insecureSkipVerify disables only the check of the host name here.
func (n *peerNames) verify(state tls.ConnectionState, settings *tls.Config) error {
	if len(state.PeerCertificates) == 0 {
		return errPeerName
	}
	leaf := state.PeerCertificates[0]
	if settings.InsecureSkipVerify {
		options := x509.VerifyOptions{Roots: settings.RootCAs, Intermediates: x509.NewCertPool()}
		for _, certificate := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(certificate)
		}
		if _, err := leaf.Verify(options); err != nil {
			return err
		}
	}
	for _, location := range leaf.URIs {
		if slices.Contains(n.uris, location.String()) {
			return nil
		}
	}
	for _, name := range n.dns {
		if net.ParseIP(name) == nil && leaf.VerifyHostname(name) == nil {
			return nil
		}
	}
	return errPeerName
}
