package entrypoint

import (
	"crypto/tls"
	"errors"
)

// Challenges answers TLS-ALPN-01 challenges (RFC 8737), before all routers.
type Challenges interface {
	// Validates reports whether handshakes that offer only these protocols validate a name.
	Validates(protocols []string) bool
	// ChallengeConfig returns the configuration of such a handshake. The connection is closed after it.
	ChallengeConfig() *tls.Config
}

var errValidated = errors.New("the handshake validated a name; nothing follows it")

// isChallenge reports whether a handshake with these protocols validates a name.
func (e *Entrypoint) isChallenge(protocols []string) bool {
	return e.deps.Challenges != nil && e.deps.Challenges.Validates(protocols)
}
