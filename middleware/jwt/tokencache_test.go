package jwt

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sluiceproxy/sluice/dynamic"
)

// A cached token is valid no longer than its end.
func TestMemoryEndsWithTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := build(t, dynamic.JWT{SigningSecret: secret, Leeway: 30e9})
		token := sign(t, "HS256", []byte(secret), claimsWith(map[string]any{"exp": time.Now().Unix() + 60}), nil)
		expect(t, j, token, passes, "")
		pass(90*time.Second - 1)
		expect(t, j, token, passes, "")
		if n := j.Counts()["remembered"]; n != 1 {
			t.Errorf("cached %d times", n)
		}
		pass(1)
		expect(t, j, token, http.StatusUnauthorized, "expired")
		if j.cache.size() != 0 {
			t.Error("it is still cached")
		}
	})
}

// A token is cached while it is valid, for the set that verified it alone.
func TestMemory(t *testing.T) {
	m, other := newTokenCache(), newTokenCache()
	one, two, found := new(keySet), new(keySet), &verified{from: 10, until: 20}
	found.by = one
	digest := m.digest("a.b.c")
	for _, test := range []struct {
		by   *keySet
		at   int64
		want bool
	}{{one, 10, true}, {one, 19, true}, {one, 9, false}, {one, 20, false}, {two, 15, false}} {
		m.put(digest, found, time.Unix(0, 15))
		if got := m.get(digest, test.by, time.Unix(0, test.at)); (got == found) != test.want {
			t.Errorf("at %d: %v", test.at, got)
		}
	}
	if m.digest("a.b.c") != digest || m.digest("a.b.d") == digest || other.digest("a.b.c") == digest {
		t.Error("digests don't tell tokens and objects apart")
	}
	if long := strings.Repeat("a", maxToken); m.digest(long) == m.digest(long[1:]) {
		t.Error("the last byte of a long token does not count")
	}
}

// However many there are, and however much is kept of them, there is a bound, and what is not valid any more goes
// first.
func TestMemoryIsBounded(t *testing.T) {
	by, now := new(keySet), time.Unix(0, 15)
	number := func(i int) (d digest) {
		binary.BigEndian.PutUint64(d[8:], uint64(i)) // All in one set.
		return d
	}
	for _, test := range []struct {
		size int
		most int64
	}{{0, cacheWays}, {1 << 10, cacheWays}, {2 << 10, 4}, {5 << 10, 1}, {9 << 10, 0}} {
		m := newTokenCache()
		for i := range 3 * cacheWays {
			m.put(number(i), &verified{by: by, until: 20, values: []string{strings.Repeat("a", test.size)}}, now)
			if m.size() > test.most {
				t.Fatalf("%d bytes: %d tokens after %d", test.size, m.size(), i)
			}
			if m.get(number(i), by, now) == nil && test.most > 0 {
				t.Fatalf("%d bytes: the last one is not there", test.size)
			}
		}
		if m.size() != test.most {
			t.Errorf("%d bytes: %d tokens, and %d fit", test.size, m.size(), test.most)
		}
	}
	m := newTokenCache()
	for i := range cacheWays - 1 {
		m.put(number(i), &verified{by: new(keySet), until: 20}, now)
	}
	m.put(number(cacheWays), &verified{by: by, until: 20}, now)
	m.put(number(cacheWays+1), &verified{by: by, until: 20}, now)
	if m.get(number(cacheWays), by, now) == nil || m.size() != 2 {
		t.Errorf("%d are there, and a valid one went before others", m.size())
	}
}

// Many requests, several keys, and a set that changes all the time.
func TestConcurrency(t *testing.T) {
	ring, other := keys(), anotherKey(t)
	synctest.Test(t, func(t *testing.T) {
		j, err := New("guard@file", dynamic.JWT{
			JwksURL: "https://issuer.example/k", RefreshInterval: 10e9,
			ForwardHeaders: map[string]string{"X-User": "sub"},
		}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		var fetched atomic.Int64 // A fetch may run behind the last request.
		sets := []string{
			jwksOf(t, member(t, "always", ring.rsa), member(t, "a", ring.p256)), jwksOf(t, member(t, "always", ring.rsa),
				member(t, "b", other)),
		}
		j.keys.(*remote).get = func(context.Context) ([]byte, error) {
			return []byte(sets[fetched.Add(1)%2]), nil
		}
		always := map[string]string{}
		for i := range 10 {
			name := fmt.Sprint("user", i)
			always[name] = sign(t, jose.RS256, ring.rsa, claimsWith(map[string]any{"sub": name}),
				map[string]any{"kid": "always"})
		}
		sometimes := []string{
			sign(t, jose.ES256, ring.p256, claimsWith(nil), map[string]any{"kid": "a"}), sign(t, jose.RS256, other,
				claimsWith(nil), map[string]any{"kid": "b"}),
		}
		never := sign(t, jose.RS256, ring.otherRSA, claimsWith(nil), map[string]any{"kid": "always"})
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 100 {
					for name, token := range always {
						if _, got := serve(j, request(t, token)); got == nil || got.Header.Get("X-User") != name {
							t.Errorf("%s does not pass", name)
						}
					}
					_, a := serve(j, request(t, sometimes[0]))
					_, b := serve(j, request(t, sometimes[1]))
					if _, got := serve(j, request(t, never)); got != nil {
						t.Error("another's key passes")
					}
					_, _ = a, b
					pass(time.Second)
					j.Status()
					j.Counts()
				}
			})
		}
		group.Wait()
		if fetched.Load() < 8 || j.Counts()["remembered"] == 0 {
			t.Errorf("fetched %d times, counts %v", fetched.Load(), j.Counts())
		}
	})
}
