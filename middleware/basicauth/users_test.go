package basicauth

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/users"
)

// TestRefusalsCostTheSame counts the hashes that are computed for known and unknown users.
func TestRefusalsCostTheSame(t *testing.T) {
	four, five := bcryptUser(t, "four", 4), bcryptUser(t, "five", 5)
	for _, list := range [][]string{
		{shaUser},
		{apr1User},
		{four},
		{four, bcryptUser(t, "again", 4)},
		{shaUser, apr1User, four, five},
		{five, shaUser},
	} {
		step := build(t, dynamic.BasicAuth{Users: list})
		var computed []kind
		step.store.matches = func(hash stored, _ []byte) bool {
			computed = append(computed, hash.kind)
			return false
		}
		kinds := map[kind]int{}
		for _, line := range list {
			_, hash, err := parseUser(line)
			if err != nil {
				t.Fatal(err)
			}
			kinds[hash.kind] = 1
		}
		names := []string{"nobody", "", strings.Repeat("x", 1000)}
		for _, line := range list {
			name, _, _ := strings.Cut(line, ":")
			names = append(names, name)
		}
		for _, name := range names {
			for range 2 { // A refusal is not cached.
				computed = nil
				if got := serve(t.Context(), t, step, basic(name, "wrong")); got.status != http.StatusUnauthorized {
					t.Errorf("%q gets in", name)
				}
				got := map[kind]int{}
				for _, kind := range computed {
					got[kind]++
				}
				if diff := cmp.Diff(kinds, got, cmp.AllowUnexported(kind{})); diff != "" {
					t.Errorf("%.9q of %d users: %s", name, len(list), diff)
				}
			}
		}
	}
}

func TestCorrectPasswordsAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := build(t, dynamic.BasicAuth{Users: []string{bcryptUser(t, "ann", 4), apr1User}})
		computed := counting(step)
		expect := func(what string, header string, status, hashes int) {
			t.Helper()
			*computed = nil
			got := serve(t.Context(), t, step, header)
			if got.status != status || len(*computed) != hashes {
				t.Errorf("%s: %d with %d hashes, want %d with %d", what, got.status, len(*computed), status, hashes)
			}
		}
		expect("first", basic("ann", "secret"), 200, 1)
		expect("second", basic("ann", "secret"), 200, 0)
		expect("another user", basic("apr1", "secret"), 200, 1)
		expect("both are", basic("ann", "secret"), 200, 0)
		expect("wrong password", basic("ann", "secret "), 401, 2)
		expect("wrong again", basic("ann", "secret "), 401, 2)
		expect("right one is still", basic("ann", "secret"), 200, 0)
		expect("parts moved", basic("an", "nsecret"), 401, 2)
		<-time.NewTimer(cacheTime - 1).C
		expect("right before the end", basic("ann", "secret"), 200, 0)
		<-time.NewTimer(1).C
		expect("over", basic("ann", "secret"), 200, 1)
		expect("anew", basic("ann", "secret"), 200, 0)
		want := map[string]uint64{"challenged": 0, "refused": 3, "verified": 3, "remembered": 5, "busy": 0}
		if diff := cmp.Diff(want, step.Counts()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestMemoryHasABound has many clients send many passwords.
func TestMemoryHasABound(t *testing.T) {
	step := build(t, dynamic.BasicAuth{Users: []string{bcryptUser(t, "ann", 4), bcryptUser(t, "bob", 4)}})
	step.store.matches = func(_ stored, password []byte) bool { return strings.HasPrefix(string(password), "right") }
	for i := range 1000 {
		serve(t.Context(), t, step, basic("ann", fmt.Sprint("right", i)))
		serve(t.Context(), t, step, basic("bob", fmt.Sprint("wrong", i)))
		serve(t.Context(), t, step, basic(fmt.Sprint("nobody", i), "right"))
	}
	if len(step.store.users) != 2 || step.store.users["ann"].proof.Load() == nil ||
		step.store.users["bob"].proof.Load() != nil {
		t.Errorf("%d users, ann %v, bob %v", len(step.store.users), step.store.users["ann"].proof.Load(),
			step.store.users["bob"].proof.Load())
	}
}

// TestScratchIsWiped looks for credentials behind a request.
func TestScratchIsWiped(t *testing.T) {
	s := newScratch([]byte("key"))
	for _, line := range []string{
		strings.TrimPrefix(basic("ann", "mArKeD"), "Authorization: "), "Basic bUFyS2VEbUFyS2VE!",
		"Basic bUFyS2VE",
	} {
		if s.read([]string{line}) {
			s.digest([]byte("hash"))
		}
		s.wipe()
		if text := fmt.Sprintf("%s %s %s", s.encoded, s.text, s.sum); strings.Trim(text, "\x00 ") != "" {
			t.Errorf("%s leaves %q", line, text)
		}
	}
}

// blocked returns a middleware whose hashes wait for a value from the test.
func blocked(t *testing.T) (step *BasicAuth, finish chan bool, running *atomic.Int64) {
	t.Helper()
	step = build(t, dynamic.BasicAuth{Users: []string{bcryptUser(t, "ann", 4), bcryptUser(t, "bob", 4)}})
	finish, running = make(chan bool), new(atomic.Int64)
	step.store.semaphore = &HashSemaphore{slots: make(chan struct{}, 2)}
	step.store.matches = func(stored, []byte) bool {
		running.Add(1)
		defer running.Add(-1)
		return <-finish
	}
	return step, finish, running
}

// TestDigestsDiffer has every part of the cached key count.
func TestDigestsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, user := range []string{"ann", "an"} {
		for _, password := range []string{"secret", "secret ", ":secret"} {
			for _, hash := range []string{"", "hash", "other"} {
				s := newScratch([]byte("key"))
				if !s.read([]string{strings.TrimPrefix(basic(user, password), "Authorization: ")}) {
					t.Fatal(user, password)
				}
				name, digest := fmt.Sprintf("%q %q %q", user, password, hash), string(s.digest([]byte(hash)))
				if other, known := seen[digest]; known {
					t.Errorf("%s is taken for %s", name, other)
				}
				seen[digest] = name
			}
		}
	}
}

// TestQuickHashesDoNotWait has passwords be checked that take no time while the semaphore is taken.
func TestQuickHashesDoNotWait(t *testing.T) {
	semaphore := NewHashSemaphore()
	for range cap(semaphore.slots) {
		semaphore.slots <- struct{}{}
	}
	step, err := New("auth@file", dynamic.BasicAuth{Users: []string{shaUser}}, Options{Semaphore: semaphore})
	if err != nil {
		t.Fatal(err)
	}
	for password, status := range map[string]int{"secret": 200, "wrong": 401} {
		if got := serve(t.Context(), t, step, basic("sha", password)); got.status != status {
			t.Errorf("%s: %d", password, got.status)
		}
	}
}

// TestFlood has many wrong passwords come at once.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step, finish, running := blocked(t)
		ask := func(ctx context.Context, header string) <-chan answered {
			got := make(chan answered, 1)
			go func() { got <- serve(ctx, t, step, header) }()
			synctest.Wait()
			return got
		}
		first := ask(t.Context(), basic("ann", "secret"))
		finish <- true
		if got := <-first; got.status != 200 {
			t.Fatalf("answers %d", got.status)
		}
		one, two := ask(t.Context(), basic("nobody", "wrong")), ask(t.Context(), basic("bob", "wrong"))
		late := ask(t.Context(), basic("bob", "secret"))
		leaving, leave := context.WithCancel(t.Context())
		gone := ask(leaving, basic("bob", "secret"))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		timed := ask(short, basic("bob", "secret"))
		if running.Load() != 2 {
			t.Errorf("%d hashes at a time", running.Load())
		}
		if got := serve(t.Context(), t, step, basic("ann", "secret")); got.status != 200 {
			t.Errorf("a cached user gets %d", got.status)
		}
		leave()
		if got := <-gone; got.status != 0 || got.record.Status != 499 ||
			got.record.Reason != "middleware auth@file: the client left before its password was checked" {
			t.Errorf("who leaves gets %d, %+v", got.status, got.record)
		}
		if got := <-timed; got.status != http.StatusGatewayTimeout {
			t.Errorf("who has no time gets %d", got.status)
		}
		start := time.Now()
		got := <-late
		if waited := time.Since(start) + time.Second; got.status != 503 || got.head.Get("Retry-After") != "1" ||
			got.head.Get("Www-Authenticate") != "" || waited != waitTimeout {
			t.Errorf("who waits gets %d, %v after %v", got.status, got.head, waited)
		}
		finish <- false
		finish <- false
		if a, b := <-one, <-two; a.status != 401 || b.status != 401 {
			t.Errorf("wrong passwords get %d and %d", a.status, b.status)
		}
		if step.store.semaphore.waiting.Load() != 0 || len(step.store.semaphore.slots) != 0 {
			t.Error("the semaphore is not released")
		}
	})
}

// TestQueueHasABound has more requests wait than can.
func TestQueueHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step, finish, _ := blocked(t)
		statuses := make(chan int, 1000)
		for range maxWaiting + 2 {
			go func() { statuses <- serve(t.Context(), t, step, basic("bob", "secret")).status }()
		}
		synctest.Wait()
		if got := serve(t.Context(), t, step, basic("bob", "secret")); got.status != 503 ||
			got.record.Reason != "middleware auth@file: too many passwords are being checked" {
			t.Errorf("one too many gets %d, %q", got.status, got.record.Reason)
		}
		// The first two compute the hash, and all others have then come with cached results.
		finish <- true
		finish <- true
		for range maxWaiting + 2 {
			if status := <-statuses; status != 200 {
				t.Errorf("answers %d", status)
			}
		}
		if step.Counts()["verified"] != 2 || step.Counts()["remembered"] != maxWaiting {
			t.Errorf("counts %v", step.Counts())
		}
	})
}

func TestSemaphoreIsShared(t *testing.T) {
	semaphore := NewHashSemaphore()
	a, err := New("a@file", dynamic.BasicAuth{Users: []string{apr1User}}, Options{Semaphore: semaphore})
	if err != nil {
		t.Fatal(err)
	}
	b, err := New("b@file", dynamic.BasicAuth{Users: []string{apr1User}}, Options{Semaphore: semaphore})
	if err != nil {
		t.Fatal(err)
	}
	if a.store.semaphore != b.store.semaphore {
		t.Error("each has its own")
	}
	if semaphore := cap(semaphore.slots); semaphore < 1 || semaphore > 1 && 2*semaphore > runtime.GOMAXPROCS(0) {
		t.Errorf("%d hashes at a time are more than half of %d processors", semaphore, runtime.GOMAXPROCS(0))
	}
}

// TestTogether has right and wrong credentials come from many goroutines.
func TestTogether(t *testing.T) {
	step := build(t, dynamic.BasicAuth{
		Users: []string{bcryptUser(t, "ann", 4), apr1User, shaUser}, HeaderField: "X-User",
		RemoveHeader: true,
	})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 30 {
				name := []string{"ann", "apr1", "sha"}[(i+j)%3]
				got := serve(t.Context(), t, step, basic(name, "secret"))
				if got.status != 200 || !slices.Equal(got.passed["X-User"], []string{name}) || got.record.Username != name {
					t.Errorf("%s: %d, %v", name, got.status, got.passed)
				}
				if j%15 > 0 {
					continue
				}
				if got := serve(t.Context(), t, step, basic(name, "wrong")); got.status != 401 {
					t.Errorf("%s with a wrong password: %d", name, got.status)
				}
			}
		})
	}
	group.Wait()
}

func TestManyUsers(t *testing.T) {
	lines := make([]string, 0, 5_000)
	for i := range cap(lines) {
		lines = append(lines, fmt.Sprintf("user%d:%s", i, strings.TrimPrefix(shaUser, "sha:")))
	}
	entries, _, err := users.Read(users.Source{Option: "basicAuth", Users: lines}, parseUser)
	if err != nil {
		t.Fatal(err)
	}
	if store := newUserStore(entries, NewHashSemaphore()); len(store.users) != len(lines) || len(store.dummies) != 1 {
		t.Errorf("%d users, %d dummies", len(store.users), len(store.dummies))
	}
}

// TestManyRounds has a thousand users whose hashes have rounds of their own. A refusal costs the most rounds and two
// hashes, for every name.
func TestManyRounds(t *testing.T) {
	sum := strings.Repeat("a", 86)
	list := make([]string, 0, 1000)
	for i := range cap(list) {
		list = append(list, fmt.Sprintf("user%d:$6$rounds=%d$salt$%s", i, maxRounds-i, sum))
	}
	step := build(t, dynamic.BasicAuth{Users: list, AllHashes: true})
	for _, name := range []string{"user0", "user1", "user500", "user999", "nobody", ""} {
		hashes, rounds := 0, 0
		step.store.matches = func(hash stored, _ []byte) bool {
			hashes, rounds = hashes+1, rounds+hash.kind.rounds
			return false
		}
		if got := serve(t.Context(), t, step, basic(name, "wrong")); got.status != http.StatusUnauthorized {
			t.Errorf("%q: status %d", name, got.status)
		}
		if hashes != 2 || rounds != maxRounds {
			t.Errorf("%q costs %d hashes of %d rounds", name, hashes, rounds)
		}
	}
}

// TestManyKinds refuses users whose refusals would cost many hashes.
func TestManyKinds(t *testing.T) {
	var list []string
	for i := range maxKinds {
		list = append(list, fmt.Sprintf("user%d:$6$rounds=1000$%s$%s", i, strings.Repeat("s", i+1), strings.Repeat("a", 86)))
	}
	step := build(t, dynamic.BasicAuth{Users: list, AllHashes: true})
	computed := counting(step)
	if got := serve(t.Context(), t, step, basic("nobody", "wrong")); got.status != 401 || len(*computed) != maxKinds {
		t.Errorf("status %d with %d hashes", got.status, len(*computed))
	}
	_, err := New("auth@file", dynamic.BasicAuth{Users: append(list, "sha2:{PLAIN}secret"), AllHashes: true}, Options{})
	if err == nil || !strings.Contains(err.Error(), "are of 9 kinds") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// TestEndsBetweenHashes has the client leave while the first of several hashes is computed.
func TestEndsBetweenHashes(t *testing.T) {
	step := build(t, dynamic.BasicAuth{Users: []string{bcryptUser(t, "four", 4), bcryptUser(t, "five", 5), apr1User}})
	for _, name := range []string{"four", "nobody"} {
		ctx, leave := context.WithCancel(t.Context())
		hashes := 0
		step.store.matches = func(stored, []byte) bool {
			hashes++
			leave()
			return false
		}
		if got := serve(ctx, t, step, basic(name, "wrong")); got.status != 0 || hashes != 1 {
			t.Errorf("%q: status %d after %d hashes", name, got.status, hashes)
		}
	}
}
