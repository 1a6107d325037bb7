package acme

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"time"

	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// presented is a challenge that every replica can answer.
type presented struct {
	Type             string          `json:"type"`
	Identifier       acme.Identifier `json:"identifier"`
	KeyAuthorization string          `json:"keyAuthorization"`
}

// challengeID returns the ID under which a challenge is stored: its type, and the token for HTTP-01 or the name for
// TLS-ALPN-01.
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
	return challengeID(challenge.Type, challenge.Identifier.Value)
}

// Present stores the challenge.
func (s *sharedSolver) Present(ctx context.Context, challenge acme.Challenge) error {
	return s.resolver.put(ctx, storage.KindChallenge, s.id(challenge), presented{
		Type: challenge.Type, Identifier: challenge.Identifier, KeyAuthorization: challenge.KeyAuthorization,
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

// challenge returns a challenge that is being validated. What is not known yet is read from the storage, since a
// validation may come before the news of it; that is limited, because anyone can send such requests.
func (r *resolver) challenge(ctx context.Context, id string) (*presented, bool) {
	if found, ok := r.state.challenge(id); ok {
		return found, true
	}
	if !r.lookups.Allow() {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	value, err := r.store.Get(ctx, storage.Key{Kind: storage.KindChallenge, Resolver: r.name, ID: id})
	if err != nil {
		return nil, false
	}
	var found presented
	if json.Unmarshal(value, &found) != nil {
		return nil, false
	}
	return &found, true
}

// lookupTimeout bounds the reading of a challenge from the storage; a validation does not wait for long.
const lookupTimeout = 3 * time.Second
