// Package servertls makes the TLS of connections to endpoints from the options of a serversTransport, of HTTP or TCP.
//
// In flows the section of options, which [dynamic.TCPClientTLS] has whole, and the process's SPIFFE [Identity]; out
// flow [Settings] for the transport ([New]), and of them a [tls.Config] for each upstream. What security depends on
// and can't be loaded is an error that names the option. The package opens no connection.
package servertls

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// sessions is how many TLS sessions are kept to resume, for one upstream.
const sessions = 32

// Settings are the settings that all upstreams of a transport share.
type Settings struct {
	*tls.Config
	// disableSNI sends no server name.
	disableSNI bool
}

// New returns the settings of a transport. With the option spiffe it needs an identity. The error names the option.
func New(config *dynamic.TCPClientTLS, identity Identity) (*Settings, error) {
	settings := &Settings{disableSNI: config.DisableSNI, Config: &tls.Config{
		ServerName:         config.ServerName,
		InsecureSkipVerify: config.InsecureSkipVerify, //nolint:gosec // the operator's explicit wish
	}}
	if config.Spiffe != nil {
		if err := setIdentity(settings.Config, config, identity); err != nil {
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
	depth, err := verifyDepth(config)
	if err != nil {
		return nil, err
	}
	names, err := newPeerNames(config)
	if err != nil {
		return nil, err
	}
	if names != nil || depth != nil {
		settings.VerifyConnection = func(state tls.ConnectionState) error {
			if depth != nil && !within(*depth, state.VerifiedChains) {
				return errDepth
			}
			if names != nil {
				return names.verify(state, settings.Config)
			}
			return nil
		}
	}
	return settings, nil
}

// ForUpstream returns the settings for one upstream: by default with the host of its server as the name, or else the
// endpoint's address. With resume it keeps sessions of its own, which is wrong where the certificate that is presented
// may change.
func (s *Settings) ForUpstream(key *loadbalancer.UpstreamKey, resume bool) *tls.Config {
	settings := s.Clone()
	if settings.ServerName == "" {
		settings.ServerName = hostName(key.Host)
	}
	if settings.ServerName == "" {
		settings.ServerName = key.Endpoint.Address.Addr().Unmap().WithZone("").String()
	}
	if s.disableSNI {
		withoutName(settings)
	}
	if resume {
		settings.ClientSessionCache = tls.NewLRUClientSessionCache(sessions)
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
