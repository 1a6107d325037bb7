package digestauth

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// TestCountsAreTakenOnce compares with a set without a bound.
func TestCountsAreTakenOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var counts counted
		taken := map[uint32]bool{}
		highest := uint32(0)
		for range 2000 {
			count := highest + uint32(random.IntN(2*width)) - width/2
			switch random.IntN(200) {
			case 0:
				count = highest + uint32(random.IntN(10*width))
			case 1:
				count = uint32(random.IntN(int(highest) + 1))
			}
			if count == 0 || count > math.MaxInt32 {
				continue
			}
			want := !taken[count] && (count > highest || highest-count < width)
			if got := counts.take(count); got != want {
				t.Fatalf("%d with %d before: %v, want %v", count, highest, got, want)
			}
			taken[count] = taken[count] || want
			highest = max(highest, count)
		}
	}
	var counts counted
	for _, count := range []uint32{math.MaxUint32, math.MaxUint32 - 1} {
		if !counts.take(count) || counts.take(count) {
			t.Errorf("%d is not taken once", count)
		}
	}
}

func nonceOf(n int, issued time.Duration) (made nonce) {
	binary.BigEndian.PutUint64(made.id[:], uint64(n))
	made.issued = issued
	return made
}

// TestLedgerHasABound enters more challenges than it holds. What it has evicted can't be used again.
func TestLedgerHasABound(t *testing.T) {
	l := new(nonceCache)
	const many = 3 * maxNonces
	now := time.Duration(many)
	for i := range many {
		if !l.use(nonceOf(i, time.Duration(i+1)), 1, now) {
			t.Fatalf("challenge %d is refused", i)
		}
	}
	shard := &l.shards[0]
	if len(shard.used) != maxNonces || len(shard.order) != maxNonces {
		t.Errorf("holds %d and %d", len(shard.used), len(shard.order))
	}
	for i := range many {
		if l.use(nonceOf(i, time.Duration(i+1)), 1, now) {
			t.Fatalf("challenge %d is used twice", i)
		}
		if fresh := l.use(nonceOf(i, time.Duration(i+1)), 2, now); fresh != (i >= many-maxNonces) {
			t.Fatalf("count 2 of challenge %d: %v", i, fresh)
		}
	}
	if l.use(nonceOf(many+1, time.Duration(many-maxNonces)), 1, now) {
		t.Error("a challenge as old as the evicted ones is taken for an unused one")
	}
	// When all are over, they make room, and nothing younger is refused.
	later := now + lifetime + 1
	if !l.use(nonceOf(many+2, later), 1, later) || len(shard.used) != 1 {
		t.Errorf("holds %d", len(shard.used))
	}
}

// TestLateAnswersAreAcceptedOnce has an answer come again while its challenge ends, after another request has cleared
// what is over.
func TestLateAnswersAreAcceptedOnce(t *testing.T) {
	l := new(nonceCache)
	const issued = time.Second
	last := issued + lifetime
	if !l.use(nonceOf(1, issued), 1, last) || !l.use(nonceOf(2, issued+1), 1, last+1) {
		t.Fatal("an answer is refused")
	}
	if l.use(nonceOf(1, issued), 1, last) {
		t.Error("an answer is accepted twice")
	}
}

// TestAnswersAreAcceptedOnce has many clients send the same answers at once.
func TestAnswersAreAcceptedOnce(t *testing.T) {
	step := build(t, dynamic.DigestAuth{HeaderField: "X-User"})
	c := challenged(t, step)
	var answers []string
	for range 100 {
		answers = append(answers, c.authorization())
	}
	var accepted [100]atomic.Int64
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range answers {
				i = (i + g*10) % len(answers)
				if serve(t, step, middlewaretest.Request(t, "GET /", answers[i])).status == 200 {
					accepted[i].Add(1)
				}
			}
		})
	}
	group.Wait()
	for i := range accepted {
		if n := accepted[i].Load(); n != 1 {
			t.Errorf("answer %d is accepted %d times", i, n)
		}
	}
}

func TestNonces(t *testing.T) {
	n := newNonces(time.Now())
	text := n.mint()
	if text == n.mint() {
		t.Error("two are equal")
	}
	if found, ok := n.open(text); !ok || found.issued <= 0 || found.issued > n.now() {
		t.Errorf("%+v, %v", found, ok)
	}
	for i := range text {
		for _, c := range []byte{'A', '_', '=', '\n', text[i] ^ 1} {
			forged := text[:i] + string(c) + text[i+1:]
			if _, ok := n.open(forged); ok && forged != text {
				t.Errorf("%q is taken for %q", forged, text)
			}
		}
	}
	// 43 characters have two bits more than the nonce.
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := 1; i < 4; i++ {
		last := strings.IndexByte(alphabet, text[len(text)-1])
		if forged := text[:len(text)-1] + alphabet[last+i:last+i+1]; last%4 != 0 {
			t.Errorf("%q has stray bits", text)
		} else if _, ok := n.open(forged); ok {
			t.Errorf("%q is taken for %q", forged, text)
		}
	}
	for _, forged := range []string{"", text[1:], text + "A", text[:len(text)-1]} {
		if _, ok := n.open(forged); ok {
			t.Errorf("%q is taken", forged)
		}
	}
	if _, ok := newNonces(time.Now()).open(text); ok {
		t.Error("another object takes it")
	}
}

// TestRefusalsCostTheSame counts the bytes that are hashed for known and unknown users.
func TestRefusalsCostTheSame(t *testing.T) {
	step := build(t, dynamic.DigestAuth{})
	hashed := ""
	step.users.sum = func(a algorithm, to, data []byte) []byte {
		hashed += fmt.Sprint(a, len(data), " ")
		return a.appendSum(to, data)
	}
	want := ""
	for _, user := range []string{"ann", "bob", "nobody of this name at all"} {
		c := challenged(t, step)
		c.user, c.password = user, "wrong"
		hashed = ""
		if got := serve(t, step, middlewaretest.Request(t, "GET /",
			c.authorization())); got.status != http.StatusUnauthorized {
			t.Fatalf("answers %d", got.status)
		}
		if want == "" {
			want = hashed
		}
		if hashed != want || hashed == "" {
			t.Errorf("%s costs %s, ann %s", user, hashed, want)
		}
	}
}
