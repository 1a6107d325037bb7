package acme

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"

	"github.com/mholt/acmez/v3/acme"
)

// ChallengePath is the prefix of the paths of HTTP-01 challenges (RFC 8555, section 8.3).
const ChallengePath = "/.well-known/acme-challenge/"

// maxToken bounds the token of a challenge, which has 22 characters or some more.
const maxToken = 128

// ServeHTTP answers HTTP-01 challenges; what is none gets 404.
func (m *Resolvers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, isChallenge := strings.CutPrefix(r.URL.Path, ChallengePath)
	if !isChallenge || !isToken(token) || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	found, ok := m.find(r.Context(), challengeID(acme.ChallengeTypeHTTP01, token))
	// Another host name may be one by which an attacker has clients or authorities reach this server (DNS rebinding).
	if !ok || !strings.EqualFold(strings.Trim(host, "[]"), found.Identifier.Value) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write([]byte(found.KeyAuthorization))
}

// isToken reports whether a text has only the characters of a token (RFC 8555, section 8.3).
func isToken(text string) bool {
	return text != "" && len(text) <= maxToken && strings.Trim(text,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// find returns a challenge of any resolver.
func (m *Resolvers) find(ctx context.Context, id string) (*presented, bool) {
	for _, r := range m.resolvers {
		if found, ok := r.state.challenge(id); ok {
			return found, true
		}
	}
	kind, _, _ := strings.Cut(id, "/")
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	results := make(chan *presented, len(m.resolvers))
	candidates := 0
	for _, r := range m.resolvers {
		if r.solvers[kind] != nil {
			candidates++
			go func() { results <- r.challenge(ctx, id) }()
		}
	}
	for range candidates {
		if found := <-results; found != nil {
			return found, true
		}
	}
	return nil, false
}

// Validates reports whether a handshake that offers these protocols validates a name by TLS-ALPN-01 (RFC 8737, section
// 3): acme-tls/1 is the only one. It is false without a resolver that uses that challenge.
func (m *Resolvers) Validates(protocols []string) bool {
	if len(protocols) != 1 || protocols[0] != acmeTLS {
		return false
	}
	for _, r := range m.resolvers {
		if r.solvers[acme.ChallengeTypeTLSALPN01] != nil {
			return true
		}
	}
	return false
}

// acmeTLS is the protocol of TLS-ALPN-01 challenges.
const acmeTLS = "acme-tls/1"

// ChallengeConfig returns the configuration of handshakes that validate a name by TLS-ALPN-01. A handshake for a name
// that is not being validated fails.
func (m *Resolvers) ChallengeConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{acmeTLS}, SessionTicketsDisabled: true,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
			found, ok := m.find(hello.Context(), challengeID(acme.ChallengeTypeTLSALPN01, name))
			if !ok {
				return nil, nil // crypto/tls answers unrecognized_name.
			}
			return found.certificate()
		},
	}
}
