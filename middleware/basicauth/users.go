package basicauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/middleware/users"
)

// cacheTime is how long verified credentials are cached.
const cacheTime = 5 * time.Minute

// result is the outcome of a verification.
type result int

const (
	// wrong means that the user does not exist or the password is wrong.
	wrong result = iota
	verified
	remembered
	// busy means that the limit of concurrent hashes was reached for too long.
	busy
	// canceled means that the request's context ended.
	canceled
)

// user is one user with the cached proof.
type user struct {
	name  string
	hash  stored
	proof atomic.Pointer[proof]
}

// proof is the digest of verified credentials. A user has one password, so one proof is enough.
type proof struct {
	digest [sha256.Size]byte
	until  time.Duration
}

// userStore holds the users, and verifies passwords against their hashes.
type userStore struct {
	users map[string]*user
	// dummies are one hash for all kinds in use that differ in rounds alone.
	dummies []filler
	// slow is set if one of the kinds is expensive.
	slow      bool
	semaphore *HashSemaphore
	key       []byte
	start     time.Time
	// matches is stored.matches; tests count its calls.
	matches func(hash stored, password []byte) bool
}

func newUserStore(entries []users.Entry[stored], semaphore *HashSemaphore) *userStore {
	d := &userStore{
		users: make(map[string]*user, len(entries)), semaphore: semaphore, key: make([]byte, sha256.Size), start: time.Now(),
		matches: stored.matches,
	}
	_, _ = rand.Read(d.key) // ends the process if the system has no randomness
	for _, entry := range entries {
		d.users[entry.Key] = &user{name: entry.Key, hash: entry.Value}
		d.cover(entry.Value.kind)
		d.slow = d.slow || entry.Value.kind.scheme.slow()
	}
	return d
}

// maxKinds bounds the dummies of a userStore with allHashes, and so the time of a refusal. Without allHashes there are
// 24 at most, which take about twice the time of the most expensive one.
const maxKinds = 8

// filler is a hash that no password has. It has the most rounds of the kinds for which it stands.
type filler struct {
	stored
	// splits is set when these kinds have different rounds.
	splits bool
}

// cover adds a dummy for a kind, or has one stand for it.
func (d *userStore) cover(k kind) {
	at := slices.IndexFunc(d.dummies, func(known filler) bool { return known.kind.sharesDummy(k) })
	if at < 0 {
		d.dummies = append(d.dummies, filler{stored: dummy(k)})
		return
	}
	known := &d.dummies[at]
	known.splits = known.splits || known.kind.rounds != k.rounds
	known.kind.rounds = max(known.kind.rounds, k.rounds)
}

// verify returns the user with these credentials, or nil.
func (d *userStore) verify(ctx context.Context, sent *scratch) (*user, result) {
	user := d.users[string(sent.user)]
	if !d.slow {
		return d.compute(ctx, user, sent.password)
	}
	text := d.dummies[0].text
	if user != nil {
		text = user.hash.text
	}
	digest := sent.digest(text)
	if user.hasCached(digest, d.now()) {
		return user, remembered
	}
	if denied, ok := d.semaphore.acquire(ctx); !ok {
		return nil, denied
	}
	defer d.semaphore.release()
	// Concurrent requests with the same credentials compute the hash once.
	if user.hasCached(digest, d.now()) {
		return user, remembered
	}
	found, outcome := d.compute(ctx, user, sent.password)
	if found != nil {
		found.proof.Store(&proof{digest: [sha256.Size]byte(digest), until: d.now() + cacheTime})
	}
	return found, outcome
}

// compute compares a password with the user's hash. A refusal computes one hash of each kind, whether the user exists
// or not, so that the time reveals nothing about users. Kinds that differ in rounds alone together cost the most rounds
// of them, as two hashes: that of the user and the rounds that it lacks.
func (d *userStore) compute(ctx context.Context, user *user, password []byte) (*user, result) {
	if ctx.Err() != nil {
		return nil, canceled
	}
	if user != nil && d.matches(user.hash, password) {
		return user, verified
	}
	for i := range d.dummies {
		if ctx.Err() != nil {
			return nil, canceled
		}
		rest := d.dummies[i]
		if user != nil && rest.kind.sharesDummy(user.hash.kind) {
			rest.kind.rounds -= user.hash.kind.rounds
		} else {
			d.matches(rest.stored, password)
			rest.kind.rounds = 0
		}
		if rest.splits {
			d.matches(rest.stored, password)
		}
	}
	return nil, wrong
}

func (d *userStore) now() time.Duration { return time.Since(d.start) }

// hasCached reports whether a digest is cached.
func (u *user) hasCached(digest []byte, now time.Duration) bool {
	if u == nil {
		return false
	}
	proof := u.proof.Load()
	return proof != nil && now < proof.until && subtle.ConstantTimeCompare(proof.digest[:], digest) == 1
}
