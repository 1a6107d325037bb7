package jwt

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"sync"
	"time"
)

// What bounds the memory of one object: 16384 tokens, and 16 MiB of what is kept of them.
const (
	shards        = 64
	perShard      = 256
	bytesPerShard = 256 << 10
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

// tokenCache holds the tokens that were verified, so that a signature is checked once. A token is remembered no
// longer than it is valid, and no longer than the key set stays as it is. When there is no room, others are forgotten
// at random.
type tokenCache struct {
	macs   sync.Pool
	shards [shards]shard
}

type shard struct {
	mutex  sync.RWMutex
	found  map[digest]*verified
	weight int
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
	m := &tokenCache{macs: sync.Pool{New: func() any { return &mac{hash: hmac.New(sha256.New, secret)} }}}
	for i := range m.shards {
		m.shards[i].found = map[digest]*verified{}
	}
	return m
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

func (m *tokenCache) shard(token digest) *shard { return &m.shards[token[0]%shards] }

// get returns what was found about a token, if it still holds.
func (m *tokenCache) get(token digest, by *keySet, now time.Time) *verified {
	s := m.shard(token)
	s.mutex.RLock()
	found := s.found[token]
	s.mutex.RUnlock()
	if found == nil {
		return nil
	}
	if !found.valid(by, now.UnixNano()) {
		s.mutex.Lock()
		s.forget(token)
		s.mutex.Unlock()
		return nil
	}
	return found
}

// put remembers what was found about a token.
func (m *tokenCache) put(token digest, found *verified, now time.Time) {
	if found.weight() > bytesPerShard {
		return
	}
	s := m.shard(token)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.forget(token)
	if s.full(found.weight()) {
		for other, old := range s.found {
			if !old.valid(found.by, now.UnixNano()) {
				s.forget(other)
			}
		}
	}
	for other := range s.found {
		if !s.full(found.weight()) {
			break
		}
		s.forget(other)
	}
	s.found[token] = found
	s.weight += found.weight()
}

func (s *shard) full(more int) bool { return len(s.found) >= perShard || s.weight+more > bytesPerShard }

func (s *shard) forget(token digest) {
	if found := s.found[token]; found != nil {
		s.weight -= found.weight()
		delete(s.found, token)
	}
}

// size returns how many tokens are remembered.
func (m *tokenCache) size() int64 {
	size := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mutex.RLock()
		size += len(s.found)
		s.mutex.RUnlock()
	}
	return int64(size)
}
