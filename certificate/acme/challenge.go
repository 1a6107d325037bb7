package acme

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"strings"
	"time"

	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"
	"github.com/miekg/dns"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// presented is a challenge that every replica can answer.
type presented struct {
	Type             string          `json:"type"`
	Identifier       acme.Identifier `json:"identifier"`
	KeyAuthorization string          `json:"keyAuthorization"`
	Created          time.Time       `json:"created"`
}

// challengeID returns the ID under which a challenge is stored: its type, and the token for HTTP-01 or the server name
// of the handshake for TLS-ALPN-01.
func challengeID(kind, tokenOrName string) string { return kind + "/" + tokenOrName }

// sharedSolver fulfils challenges that the replicas answer, by storing them. It is an acmez.Solver.
type sharedSolver struct {
	resolver *resolver
	// delay is the time between presenting and validating (the options delay).
	delay time.Duration
}

// id returns the ID of a challenge.
func (s *sharedSolver) id(challenge acme.Challenge) string {
	if challenge.Type == acme.ChallengeTypeHTTP01 {
		return challengeID(challenge.Type, challenge.Token)
	}
	return challengeID(challenge.Type, serverName(challenge.Identifier))
}

// serverName returns the name of the handshakes that validate an identifier by TLS-ALPN-01: for an IP address that of
// its reverse mapping (RFC 8738, section 6).
func serverName(identifier acme.Identifier) string {
	if reverse, err := dns.ReverseAddr(identifier.Value); identifier.Type == identifierIP && err == nil {
		return strings.TrimSuffix(reverse, ".")
	}
	return identifier.Value
}

// Present stores the challenge.
func (s *sharedSolver) Present(ctx context.Context, challenge acme.Challenge) error {
	return s.resolver.put(ctx, storage.KindChallenge, s.id(challenge), presented{
		Type: challenge.Type, Identifier: challenge.Identifier, KeyAuthorization: challenge.KeyAuthorization,
		Created: time.Now().Round(0),
	})
}

// Wait waits for the option delay.
func (s *sharedSolver) Wait(ctx context.Context, _ acme.Challenge) error { return wait(ctx, s.delay) }

// CleanUp deletes the challenge.
func (s *sharedSolver) CleanUp(ctx context.Context, challenge acme.Challenge) error {
	return s.resolver.remove(ctx, storage.KindChallenge, s.id(challenge))
}

// certificate returns the certificate that answers a TLS-ALPN-01 challenge (RFC 8737, section 3).
func (p *presented) certificate() (*tls.Certificate, error) {
	return acmez.TLSALPN01ChallengeCert(acme.Challenge{
		Type: p.Type, Identifier: p.Identifier, KeyAuthorization: p.KeyAuthorization,
	})
}

// challenge returns a challenge that the state does not have yet, or nil. It is read from the storage, since a
// validation may come before the change that the storage reports. Clients can send any number of such requests: beyond
// a limit, they wait for that change.
func (r *resolver) challenge(ctx context.Context, id string) *presented {
	if !r.lookups.Allow() {
		return r.awaitChallenge(ctx, id)
	}
	value, err := r.store.Get(ctx, storage.Key{Kind: storage.KindChallenge, Resolver: r.name, ID: id})
	if err != nil {
		return nil
	}
	var found presented
	if json.Unmarshal(value, &found) != nil {
		return nil
	}
	return &found
}

// awaitChallenge waits until the storage has shown a challenge. At most maxWaiting requests wait.
func (r *resolver) awaitChallenge(ctx context.Context, id string) *presented {
	select {
	case r.awaiting <- struct{}{}:
		defer func() { <-r.awaiting }()
	default:
		return nil
	}
	for {
		next := r.changed.wait()
		if found, ok := r.state.challenge(id); ok {
			return found
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil
		}
	}
}

// lookupTimeout bounds how long a request waits for a challenge; a validation does not wait for long.
const lookupTimeout = 3 * time.Second
