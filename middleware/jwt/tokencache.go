package jwt

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What bounds the memory of one object: 16384 tokens, and 16 MiB of what is kept of them.
const (
	cacheSets   = 2048
	cacheWays   = 8
	maxSetBytes = 8 << 10
)

// verified is what is kept of a token that passed. It never changes.
type verified struct {
	// by is the set with the key that verified it.
	by *keySet
	// from and until are when it is valid, in nanoseconds since 1970, leeway included.
	from, until int64
	user        string
	// values are those of the headers, empty where the header is not set.
	values []string
}

func (v *verified) valid(by *keySet, at int64) bool {
	return v.by == by && v.from <= at && at < v.until
}

func (v *verified) weight() int {
	weight := len(v.user)
	for _, value := range v.values {
		weight += len(value)
	}
	return weight
}

// digest stands for a token. Without the key it cannot be inverted, and no other token with the same digest be found.
type digest [sha256.Size]byte

// tokenCache holds the tokens that were verified, so that a signature is checked once. A token is cached no
// longer than it is valid, and no longer than the key set stays as it is. It is a set-associative cache: the digest of
// a token chooses its set, which never changes but is replaced as a whole, without the oldest tokens when it is full.
type tokenCache struct {
	macs sync.Pool
	sets [cacheSets]atomic.Pointer[[]cached]
}

// cached is a token in a set. The newest is the first.
type cached struct {
	*verified

	token digest
}

// mac is room to compute a digest in.
type mac struct {
	hash hash.Hash
	text [maxToken]byte
	sum  digest
}

func newTokenCache() *tokenCache {
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // It ends the process where the system has no randomness.
	return &tokenCache{macs: sync.Pool{New: func() any { return &mac{hash: hmac.New(sha256.New, secret)} }}}
}

// digest returns what stands for a token of at most maxToken bytes.
func (m *tokenCache) digest(token string) digest {
	room := m.macs.Get().(*mac)
	used := copy(room.text[:], token)
	room.hash.Reset()
	_, _ = room.hash.Write(room.text[:used])
	room.hash.Sum(room.sum[:0])
	found := room.sum
	clear(room.text[:used])
	m.macs.Put(room)
	return found
}

func (m *tokenCache) set(token digest) *atomic.Pointer[[]cached] {
	return &m.sets[binary.LittleEndian.Uint16(token[:])%cacheSets]
}

// get returns what was found about a token, if it still holds.
func (m *tokenCache) get(token digest, by *keySet, now time.Time) *verified {
	set := m.set(token).Load()
	if set == nil {
		return nil
	}
	for _, found := range *set {
		if found.token != token {
			continue
		}
		if found.valid(by, now.UnixNano()) {
			return found.verified
		}
		m.replace(token, nil, by, now)
	}
	return nil
}

// put stores the result for a token, unless that is larger than a set may be.
func (m *tokenCache) put(token digest, found *verified, now time.Time) {
	if found.weight() <= maxSetBytes {
		m.replace(token, []cached{{found, token}}, found.by, now)
	}
}

// replace replaces the set of a token by the given ones and those others that still hold and fit.
func (m *tokenCache) replace(token digest, given []cached, by *keySet, now time.Time) {
	for set := m.set(token); ; {
		old := set.Load()
		next, room := slices.Clip(given), maxSetBytes
		for i := range given {
			room -= given[i].weight()
		}
		if old != nil {
			for _, other := range *old {
				if len(next) < cacheWays && other.token != token && other.valid(by, now.UnixNano()) && other.weight() <= room {
					next = append(next, other)
					room -= other.weight()
				}
			}
		}
		if set.CompareAndSwap(old, &next) {
			return
		}
	}
}

// size returns how many tokens are cached.
func (m *tokenCache) size() (size int64) {
	for i := range m.sets {
		if set := m.sets[i].Load(); set != nil {
			size += int64(len(*set))
		}
	}
	return size
}
