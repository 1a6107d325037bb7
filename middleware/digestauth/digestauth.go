// Package digestauth is the middleware digestAuth: it lets in clients that prove a user's password without sending it
// (RFC 7616).
//
// What flows in: a request with an answer to an earlier challenge. What flows out: the same request, with the user's
// name in a header if so configured, or a challenge with status 401. It never sees a password, accepts no answer
// twice, keeps nothing about challenges that nobody answered, and never says whether it was the user or the password
// that was wrong, not by its time either.
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
	// The rest is behind pointers so that nothing of it is printed with the DigestAuth.
	users  *userStore
	nonces *nonces
	seen   *nonceCache
	counts *counts
}

// Options are what a digestAuth needs beside its definition.
type Options struct {
	// ReadFile reads the file that usersFile names.
	ReadFile func(path string) ([]byte, error)
}

// counts are what has happened to requests since the object was made.
type counts struct{ challenged, refused, verified, stale, replayed atomic.Uint64 }

// New checks the definition and reads the users: at least one of the configured realm, each with a hash of user,
// realm and password by MD5 or SHA-256. All must have a hash by the same algorithm, and those that all have are
// offered to clients. The error lists every line that is wrong, and holds nothing of it.
func New(name string, config dynamic.DigestAuth, options Options) (*DigestAuth, error) {
	realm, quoted, err := users.Realm("digestAuth.realm", config.Realm)
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

// NoRetain says that no part of a request outlives its handler here.
func (*DigestAuth) NoRetain() {}

// Guards reports that it always decides who gets in: one without users is refused by New.
func (*DigestAuth) Guards() guard.Access { return guard.Access{Guards: guard.Always} }

// Warnings returns what the definition declares without effect: users of another realm, and those that another line
// takes the place of.
func (d *DigestAuth) Warnings() []string { return d.warnings }

// Counts returns how many requests there were since the object was made: "challenged" came without credentials,
// "refused" with wrong ones, "verified" with right ones, "stale" with right ones that answer a challenge which is
// over, and "replayed" with right ones that had been used before, or so long ago that it is not known any more.
func (d *DigestAuth) Counts() map[string]uint64 {
	return map[string]uint64{
		"challenged": d.counts.challenged.Load(), "refused": d.counts.refused.Load(), "verified": d.counts.verified.Load(),
		"stale": d.counts.stale.Load(), "replayed": d.counts.replayed.Load(),
	}
}

// Wrap returns a handler that lets requests with the right answer to a challenge pass to next, once each. Others are
// challenged with 401.
func (d *DigestAuth) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := d.admit(w, r); user != nil {
			d.identity.Tell(r, user.name)
			next.ServeHTTP(w, r)
		}
	})
}

// admit returns the user that a request is from, or answers it.
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
	record.Username = user.name // It is no part of the request's head, which would be kept with the record.
	// From here on the client is known to have the password, and has only to answer another challenge.
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
func random(b []byte) { _, _ = rand.Read(b) } // It ends the process where the system has no randomness.
