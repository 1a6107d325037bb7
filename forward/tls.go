package forward

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// newTLS returns the settings that all upstreams of a transport share.
func newTLS(config *dynamic.ServersTransport, identity Identity) (*tls.Config, error) {
	settings := &tls.Config{
		ServerName:         config.ServerName,
		InsecureSkipVerify: config.InsecureSkipVerify, //nolint:gosec // the operator's explicit wish
	}
	if err := setVersions(settings, config); err != nil {
		return nil, err
	}
	if config.Spiffe != nil {
		if err := setIdentity(settings, config, identity); err != nil {
			return nil, err
		}
		return settings, nil
	}
	var err error
	if settings.RootCAs, err = roots(config.RootCAs); err != nil {
		return nil, err
	}
	if settings.Certificates, err = clientCertificates(config.Certificates); err != nil {
		return nil, err
	}
	names, err := newPeerNames(config)
	if err != nil {
		return nil, err
	}
	if names != nil {
		settings.VerifyConnection = func(state tls.ConnectionState) error { return names.verify(state, settings) }
	}
	return settings, nil
}

// setVersions sets the versions and cipher suites.
func setVersions(settings *tls.Config, config *dynamic.ServersTransport) error {
	var err error
	if settings.MinVersion, err = version("minVersion", config.MinVersion); err != nil {
		return err
	}
	if settings.MaxVersion, err = version("maxVersion", config.MaxVersion); err != nil {
		return err
	}
	if settings.MaxVersion != 0 && settings.MaxVersion < max(settings.MinVersion, tls.VersionTLS10) {
		return fmt.Errorf("maxVersion %s is below minVersion %s", config.MaxVersion, config.MinVersion)
	}
	settings.CipherSuites, err = cipherSuites(config.CipherSuites)
	return err
}

// tlsFor returns the settings for one upstream: its name, and sessions of its own unless the certificate that is
// presented may change.
func (t *Transport) tlsFor(key loadbalancer.UpstreamKey) *tls.Config {
	settings := t.tls.Clone()
	if settings.ServerName == "" {
		settings.ServerName = hostName(key.Host)
	}
	if settings.ServerName == "" {
		settings.ServerName = key.Endpoint.Address.Addr().Unmap().WithZone("").String()
	}
	if t.identity == nil {
		settings.ClientSessionCache = tls.NewLRUClientSessionCache(tlsSessions)
	}
	return settings
}

// hostName returns the host of an authority, without brackets and port.
func hostName(authority string) string {
	location := url.URL{Host: authority}
	return strings.TrimSuffix(location.Hostname(), ".")
}

func roots(sources []string) (*x509.CertPool, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	for i, source := range sources {
		option := fmt.Sprintf("rootCAs[%d]", i)
		text, err := document.ReadPEM(option, source)
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s holds no certificate", option, document.DescribePEM(source))
		}
	}
	return pool, nil
}

func clientCertificates(sources []dynamic.Certificate) ([]tls.Certificate, error) {
	var all []tls.Certificate
	for i, source := range sources {
		certFile, err := document.ReadPEM(fmt.Sprintf("certificates[%d].certFile", i), source.CertFile)
		if err != nil {
			return nil, err
		}
		keyFile, err := document.ReadPEM(fmt.Sprintf("certificates[%d].keyFile", i), source.KeyFile)
		if err != nil {
			return nil, err
		}
		pair, err := document.KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("certificates[%d]: %s: %w", i, document.DescribePEM(source.CertFile), err)
		}
		all = append(all, pair)
	}
	return all, nil
}

func version(option, name string) (uint16, error) {
	switch strings.ToLower(name) {
	case "":
		return 0, nil
	case "versiontls10":
		return tls.VersionTLS10, nil
	case "versiontls11":
		return tls.VersionTLS11, nil
	case "versiontls12":
		return tls.VersionTLS12, nil
	case "versiontls13":
		return tls.VersionTLS13, nil
	}
	return 0, fmt.Errorf("%s: unknown value %q, expected VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13", option,
		name)
}

func cipherSuites(wanted []string) ([]uint16, error) {
	var ids []uint16
	known := slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites())
	for i, name := range wanted {
		at := slices.IndexFunc(known, func(suite *tls.CipherSuite) bool { return strings.EqualFold(suite.Name, name) })
		if at < 0 {
			return nil, unknownSuite(i, name, known)
		}
		ids = append(ids, known[at].ID)
	}
	return ids, nil
}

func unknownSuite(index int, name string, known []*tls.CipherSuite) error {
	names := make([]string, 0, len(known))
	for _, suite := range known {
		names = append(names, suite.Name)
	}
	if nearest, ok := document.Nearest(name, names); ok {
		return fmt.Errorf("cipherSuites[%d]: unknown value %q, did you mean %q?", index, name, nearest)
	}
	return fmt.Errorf("cipherSuites[%d]: unknown value %q", index, name)
}

var errPeerName = errors.New("the certificate carries none of the names of peerCertSANs and peerCertURI")

// peerNames are the accepted names of a server's certificate: it must carry one of them (peerCertSANs,
// peerCertURI).
type peerNames struct {
	uris []string
	dns  []string
}

func newPeerNames(config *dynamic.ServersTransport) (*peerNames, error) {
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
