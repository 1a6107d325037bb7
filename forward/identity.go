package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Identity authenticates connections to endpoints by SPIFFE identities; spiffe.Source implements it.
type Identity interface {
	// Authenticate sets what presents Sluice's identity, and accepts those that the section names. It fails when that
	// names no valid one.
	Authenticate(settings *tls.Config, accepted *dynamic.Spiffe) error
	// Ready returns why no connection can be made now. It takes no lock.
	Ready() error
}

var errNoWorkloadAPI = errors.New("spiffe needs the static option spiffe.workloadAPIAddr, which is not set")

// setIdentity sets the fields for the option spiffe, which excludes other ways of authentication.
func setIdentity(settings *tls.Config, config *dynamic.ServersTransport, identity Identity) error {
	var others []string
	for _, option := range []struct {
		name string
		set  bool
	}{
		{"serverName", config.ServerName != ""},
		{"insecureSkipVerify", config.InsecureSkipVerify},
		{"rootCAs", len(config.RootCAs) > 0},
		{"certificates", len(config.Certificates) > 0},
		{"peerCertURI", config.PeerCertURI != ""},
		{"peerCertSANs", len(config.PeerCertSANs) > 0},
	} {
		if option.set {
			others = append(others, option.name)
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("spiffe excludes %s: both say how servers are authenticated", strings.Join(others, ", "))
	}
	if identity == nil {
		return errNoWorkloadAPI
	}
	return identity.Authenticate(settings, config.Spiffe)
}

// identityError is the error of a connection that was not tried, since Sluice has no identity now.
type identityError struct{ err error }

// Error returns the cause.
func (e *identityError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *identityError) Unwrap() error { return e.err }

// Inconclusive keeps health checks from counting the error against the endpoint.
func (e *identityError) Inconclusive() bool { return true }

// dialAs dials only while there is an identity to present.
func dialAs(identity Identity, dial func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		if err := identity.Ready(); err != nil {
			return nil, &identityError{err}
		}
		return dial(ctx)
	}
}
