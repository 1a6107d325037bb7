// Package digestauth implements the middleware digestAuth: HTTP digest authentication (RFC 7616).
//
// Challenges are stateless; each response to one is accepted once. Neither the response nor its time reveals whether
// the user or the password was wrong.
package digestauth

import (
	"crypto/rand"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/guard"
	"github.com/sluiceproxy/sluice/middleware/users"
	"github.com/sluiceproxy/sluice/telemetry"
)

// DigestAuth is one configured digestAuth.
type DigestAuth struct {
	name     string
	identity users.Identity
	warnings []string
	// The rest is behind pointers so that it is not printed with the DigestAuth.
	users  *userStore
	nonces *nonces
	seen   *nonceCache
	counts *counts
}

// Options are the dependencies of a DigestAuth.
type Options struct {
	// ReadFile reads the option usersFile.
	ReadFile func(path string) ([]byte, error)
}

// counts are the counters since New.
type counts struct{ challenged, refused, verified, stale, replayed atomic.Uint64 }

// New checks the definition and reads the users: at least one of the configured realm, each with a hash of user, realm
// and password by MD5 or SHA-256. All must have a hash by the same algorithm; the algorithms that all have are offered
// to clients. The error lists every invalid line by its number.
func New(name string, config dynamic.DigestAuth, options Options) (*DigestAuth, error) {
	realm, quoted, err := users.Realm("digestAuth.realm", config.Realm, config.ExactRealm)
	if err != nil {
		return nil, err
	}
	identity, err := users.NewIdentity("digestAuth", config.HeaderField, config.RemoveHeader)
	if err != nil {
		return nil, err
	}
	from := users.Source{Option: "digestAuth", Users: config.Users, File: config.UsersFile, ReadFile: options.ReadFile}
	entries, warnings, err := users.Read(from, parseUser)
	if err != nil {
		return nil, err
	}
	store, idle, err := newUserStore(realm, quoted, entries)
	if err != nil {
		return nil, err
	}
	return &DigestAuth{
		name: name, identity: identity, warnings: append(warnings, idle...),
		users: store, nonces: newNonces(time.Now()), seen: new(nonceCache), counts: new(counts),
	}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*DigestAuth) NoRetain() {}

// Guards implements middleware.Guard: New requires users, so access is always restricted.
func (*DigestAuth) Guards() guard.Access { return guard.Access{Guards: guard.Always} }

// Replaces returns the names of the headers that are never taken from the client of a request, or not passed on.
func (d *DigestAuth) Replaces() []string { return d.identity.Replaces() }

// Warnings returns users without effect: those of another realm, and duplicates.
func (d *DigestAuth) Warnings() []string { return d.warnings }

// Counts returns the number of requests since New: "challenged" had no credentials, "refused" wrong ones, "verified"
// correct ones, "stale" correct ones for an expired challenge, and "replayed" correct ones that had been used before,
// or may have been.
func (d *DigestAuth) Counts() map[string]uint64 {
	return map[string]uint64{
		"challenged": d.counts.challenged.Load(), "refused": d.counts.refused.Load(), "verified": d.counts.verified.Load(),
		"stale": d.counts.stale.Load(), "replayed": d.counts.replayed.Load(),
	}
}

// Wrap returns a handler that passes requests with a correct response to a challenge to next, once each. Others get 401
// with a challenge.
func (d *DigestAuth) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := d.admit(w, r); user != nil {
			telemetry.RecordFrom(r.Context()).Authenticated = true
			d.identity.Set(r, user.name)
			next.ServeHTTP(w, r)
		}
	})
}

// admit returns the authenticated user, or answers the request.
func (d *DigestAuth) admit(w http.ResponseWriter, r *http.Request) *user {
	lines := r.Header["Authorization"]
	if len(lines) == 0 {
		return d.refuse(w, r, &d.counts.challenged, "the request has no credentials", false)
	}
	sent, ok := parse(lines)
	if !ok {
		return d.refuse(w, r, &d.counts.refused, "the request has no credentials that digestAuth understands", false)
	}
	record := telemetry.RecordFrom(r.Context())
	record.Username = users.Claimed(sent.username)
	switch {
	case sent.realm != d.users.realm:
		return d.refuse(w, r, &d.counts.refused, "the credentials are for another realm", false)
	case !isTarget(sent.uri, r, record):
		return d.refuse(w, r, &d.counts.refused, "the credentials are for another target", false)
	}
	user := d.users.find(&sent, r.Method)
	if user == nil {
		return d.refuse(w, r, &d.counts.refused, "the user or the password is wrong", false)
	}
	record.Username = user.name // not a part of the request's head, which the record would retain
	// The password is correct; the client may need a new challenge.
	now := d.nonces.now()
	nonce, ok := d.nonces.open(sent.nonce)
	switch {
	case !ok || sent.opaque != "" && sent.opaque != d.nonces.opaque || now-nonce.issued > lifetime:
		return d.refuse(w, r, &d.counts.stale, "the credentials answer a challenge that is over", true)
	case !d.seen.use(nonce, sent.count, now):
		return d.refuse(w, r, &d.counts.replayed, "the credentials have been used before", true)
	}
	d.counts.verified.Add(1)
	return user
}

// refuse answers with a new challenge for each algorithm.
func (d *DigestAuth) refuse(w http.ResponseWriter, r *http.Request, count *atomic.Uint64, reason string,
	stale bool,
) *user {
	count.Add(1)
	users.Refuse(w, r, d.name, reason, d.users.challenges(d.nonces.mint(), d.nonces.opaque, stale)...)
	return nil
}

// random fills b.
func random(b []byte) { _, _ = rand.Read(b) } // ends the process if the system has no randomness
