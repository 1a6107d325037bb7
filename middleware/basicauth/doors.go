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

// remembering is how long credentials that were verified count as verified, from the time when their hash was computed.
const remembering = 5 * time.Minute

// finding is what was found out about credentials.
type finding int

const (
	// wrong says that there is no such user or that the password is another.
	wrong finding = iota
	verified
	remembered
	// busy says that others are in the way.
	busy
	// left says that nobody waits for the answer any more.
	left
)

// user is one user, and what is remembered of the credentials that were right.
type user struct {
	name  string
	hash  stored
	proof atomic.Pointer[proof]
}

// proof says that credentials with a digest were right. A user has one password, so there is never more than one.
type proof struct {
	digest [sha256.Size]byte
	until  time.Duration
}

// doors are the users, and the work that it takes to tell them from others.
type doors struct {
	users map[string]*user
	// dummies are a hash of each kind that the users have.
	dummies []stored
	// slow says that one of the kinds takes time.
	slow  bool
	turns *Turns
	key   []byte
	start time.Time
	// matches is stored.matches, or what counts its calls in tests.
	matches func(hash stored, password []byte) bool
}

func newDoors(entries []users.Entry[stored], turns *Turns) *doors {
	d := &doors{
		users: make(map[string]*user, len(entries)), turns: turns, key: make([]byte, sha256.Size), start: time.Now(),
		matches: stored.matches,
	}
	_, _ = rand.Read(d.key) // It ends the process where the system has no randomness.
	for _, entry := range entries {
		hash := entry.Value
		d.users[entry.Key] = &user{name: entry.Key, hash: hash}
		if !slices.ContainsFunc(d.dummies, func(known stored) bool { return known.kind == hash.kind }) {
			d.dummies = append(d.dummies, dummy(hash.kind))
			d.slow = d.slow || hash.kind.scheme != sha
		}
	}
	return d
}

// open finds out whether credentials are right, and whose. A user is returned only if they are.
func (d *doors) open(ctx context.Context, sent *scratch) (*user, finding) {
	user := d.users[string(sent.user)]
	if !d.slow {
		return d.compute(user, sent.password)
	}
	text := d.dummies[0].text
	if user != nil {
		text = user.hash.text
	}
	digest := sent.digest(text)
	if user.remembers(digest, d.now()) {
		return user, remembered
	}
	if denied, ok := d.turns.take(ctx); !ok {
		return nil, denied
	}
	defer d.turns.give()
	// Many requests come at once with the same credentials, and the first one of them is enough.
	if user.remembers(digest, d.now()) {
		return user, remembered
	}
	found, result := d.compute(user, sent.password)
	if found != nil {
		found.proof.Store(&proof{digest: [sha256.Size]byte(digest), until: d.now() + remembering})
	}
	return found, result
}

// compute compares a password with the user's hash. Whoever is refused has had one hash of each kind computed, whether there is such a
// user or not, and of whichever kind its own hash is. So the time says nothing about users, even where their hashes are of many kinds.
func (d *doors) compute(user *user, password []byte) (*user, finding) {
	if user != nil && d.matches(user.hash, password) {
		return user, verified
	}
	for _, dummy := range d.dummies {
		if user == nil || dummy.kind != user.hash.kind {
			d.matches(dummy, password)
		}
	}
	return nil, wrong
}

func (d *doors) now() time.Duration { return time.Since(d.start) }

// remembers reports whether credentials with a digest were right not long ago.
func (u *user) remembers(digest []byte, now time.Duration) bool {
	if u == nil {
		return false
	}
	proof := u.proof.Load()
	return proof != nil && now < proof.until && subtle.ConstantTimeCompare(proof.digest[:], digest) == 1
}
