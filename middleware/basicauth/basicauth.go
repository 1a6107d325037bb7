// Package basicauth implements the middleware basicAuth: HTTP basic authentication (RFC 7617).
//
// Passwords are verified against the hashes of users and not kept. Neither the response nor its time reveals whether
// the user or the password was wrong.
package basicauth

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/guard"
	"github.com/sluiceproxy/sluice/middleware/users"
	"github.com/sluiceproxy/sluice/telemetry"
)

// BasicAuth is one configured basicAuth.
type BasicAuth struct {
	name      string
	challenge string
	identity  users.Identity
	warnings  []string
	// store is behind a pointer so that it is not printed with the BasicAuth.
	store   *userStore
	scratch *sync.Pool
	counts  *counts
}

// Options are the dependencies of a BasicAuth.
type Options struct {
	// ReadFile reads the option usersFile.
	ReadFile func(path string) ([]byte, error)
	// Semaphore bounds concurrent hash computations. It may be shared; nil makes a new one.
	Semaphore *HashSemaphore
}

// counts are the counters since New.
type counts struct{ challenged, refused, verified, remembered, busy atomic.Uint64 }

// New checks the definition and reads the users: at least one, each with a hash of its password by MD5 ("$apr1$",
// "$1$"), SHA-1 ("{SHA}") or bcrypt ("$2y$", "$2a$", "$2b$", "$2x$", with a cost of at most 17); with allHashes also by
// SHA-256 and SHA-512 of crypt ("$5$", "$6$", with at most 1,000,000 rounds), salted SHA-1 ("{SSHA}"), or a plain
// password ("{PLAIN}"), where the hashes are of at most 8 kinds by scheme, cost and length of the salt. The error lists
// every invalid line by its number.
func New(name string, config dynamic.BasicAuth, options Options) (*BasicAuth, error) {
	_, realm, err := users.Realm("basicAuth.realm", config.Realm, config.ExactRealm)
	if err != nil {
		return nil, err
	}
	identity, err := users.NewIdentity("basicAuth", config.HeaderField, config.RemoveHeader)
	if err != nil {
		return nil, err
	}
	from := users.Source{Option: "basicAuth", Users: config.Users, File: config.UsersFile, ReadFile: options.ReadFile}
	parse := parseUser
	if config.AllHashes {
		parse = parseAnyUser
	}
	entries, warnings, err := users.Read(from, parse)
	if err != nil {
		return nil, err
	}
	challenge := "Basic realm=" + realm
	if !config.ExactRealm {
		challenge += `, charset="UTF-8"`
	}
	semaphore := options.Semaphore
	if semaphore == nil {
		semaphore = NewHashSemaphore()
	}
	store := newUserStore(entries, semaphore)
	if kinds := len(store.dummies); config.AllHashes && kinds > maxKinds {
		return nil, fmt.Errorf("basicAuth: the hashes of the users are of %d kinds by scheme, cost and length of the salt, "+
			"and each refusal computes one of each; at most %d are accepted", kinds, maxKinds)
	}
	return &BasicAuth{
		name: name, challenge: challenge, identity: identity, warnings: warnings,
		store: store, scratch: &sync.Pool{New: func() any { return newScratch(store.key) }}, counts: new(counts),
	}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*BasicAuth) NoRetain() {}

// Guards implements middleware.Guard: New requires users, so access is always restricted.
func (*BasicAuth) Guards() guard.Access { return guard.Access{Guards: guard.Always} }

// Replaces returns the names of the headers that are never taken from the client of a request, or not passed on.
func (b *BasicAuth) Replaces() []string { return b.identity.Replaces() }

// Warnings returns duplicate users, whose line has no effect.
func (b *BasicAuth) Warnings() []string { return b.warnings }

// Counts returns the number of requests since New: "challenged" had no credentials, "refused" wrong ones, "verified"
// correct ones whose hash was computed, "remembered" correct ones from the cache, and "busy" could not be decided in
// time.
func (b *BasicAuth) Counts() map[string]uint64 {
	return map[string]uint64{
		"challenged": b.counts.challenged.Load(), "refused": b.counts.refused.Load(), "verified": b.counts.verified.Load(),
		"remembered": b.counts.remembered.Load(), "busy": b.counts.busy.Load(),
	}
}

// Wrap returns a handler that passes authenticated requests to next. Others get 401 with a challenge, or 503 if too
// many passwords are being verified.
func (b *BasicAuth) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := b.admit(w, r); user != nil {
			telemetry.RecordFrom(r.Context()).Authenticated = true
			b.identity.Set(r, user.name)
			next.ServeHTTP(w, r)
		}
	})
}

// admit returns the authenticated user, or answers the request.
func (b *BasicAuth) admit(w http.ResponseWriter, r *http.Request) *user {
	lines := r.Header["Authorization"]
	if len(lines) == 0 {
		b.counts.challenged.Add(1)
		users.Refuse(w, r, b.name, "the request has no credentials", b.challenge)
		return nil
	}
	scratch := b.scratch.Get().(*scratch)
	defer func() {
		scratch.wipe()
		b.scratch.Put(scratch)
	}()
	if !scratch.read(lines) {
		b.counts.refused.Add(1)
		users.Refuse(w, r, b.name, "the request has no credentials that basicAuth understands", b.challenge)
		return nil
	}
	user, found := b.store.verify(r.Context(), scratch)
	record := telemetry.RecordFrom(r.Context())
	if user == nil {
		record.Username = users.Claimed(string(scratch.user))
	} else {
		record.Username = user.name
	}
	switch found {
	case remembered:
		b.counts.remembered.Add(1)
		return user
	case verified:
		b.counts.verified.Add(1)
		return user
	case wrong:
		b.counts.refused.Add(1)
		users.Refuse(w, r, b.name, "the user or the password is wrong", b.challenge)
	case busy:
		b.counts.busy.Add(1)
		w.Header()["Retry-After"] = []string{"1"}
		answer.Refuse(w, r, http.StatusServiceUnavailable, b.name, "too many passwords are being checked")
	case canceled:
		answer.Leave(w, r, b.name, "its password was checked")
	}
	return nil
}
