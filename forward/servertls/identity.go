package servertls

import (
	"crypto/tls"
	"errors"
	"fmt"
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
func setIdentity(settings *tls.Config, config *dynamic.TCPClientTLS, identity Identity) error {
	var others []string
	for _, option := range []struct {
		name string
		set  bool
	}{
		{"serverName", config.ServerName != ""},
		{"insecureSkipVerify", config.InsecureSkipVerify},
		{"verifyDepth", config.VerifyDepth != nil},
		{"disableSNI", config.DisableSNI},
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

// IdentityError is the error of a connection that was not tried, since Sluice has no identity now.
type IdentityError struct{ Err error }

// Error returns the cause.
func (e *IdentityError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *IdentityError) Unwrap() error { return e.Err }

// Inconclusive keeps health checks from counting the error against the endpoint.
func (e *IdentityError) Inconclusive() bool { return true }

// Ready returns an [*IdentityError] while a connection that needs the identity can't be made.
func Ready(identity Identity) error {
	if err := identity.Ready(); err != nil {
		return &IdentityError{err}
	}
	return nil
}
