package dns01_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mholt/acmez/v3/acme"

	"github.com/sluiceproxy/sluice/certificate/acme/dns01"
	"github.com/sluiceproxy/sluice/static"
)

// single is a provider that holds one challenge at a time.
type single struct {
	provider
	pause  time.Duration
	mu     sync.Mutex
	held   string
	events []string
	begin  time.Time
}

func newSingle(t *testing.T, pause time.Duration) *single {
	t.Helper()
	s := &single{pause: pause, begin: time.Now()}
	note := func(event, name string) {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "_acme-challenge."), ".")
		s.events = append(s.events, time.Since(s.begin).String()+" "+event+" "+name)
	}
	s.present = func(name, _ string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held != "" {
			t.Errorf("%s is written while %s is held", name, s.held)
		}
		s.held = name
		note("write", name)
		return nil
	}
	s.cleanUp = func(name, _ string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = ""
		note("remove", name)
		return nil
	}
	return s
}

// Sequential returns the pause between two challenges.
func (s *single) Sequential() time.Duration { return s.pause }

// unchecked disables the propagation check, so that no socket is needed.
func unchecked() static.DNSChallenge {
	return static.DNSChallenge{
		Resolvers:   []string{"127.0.0.1:1"},
		Propagation: &static.Propagation{DisableChecks: true},
	}
}

// order does with a solver what acmez does for an order.
func order(ctx context.Context, t *testing.T, s *dns01.Solver, domains ...string) {
	t.Helper()
	for _, domain := range domains {
		if err := s.Present(ctx, challenge(domain, "a")); err != nil {
			t.Error(err)
		}
	}
	for _, domain := range domains {
		if err := s.Wait(ctx, challenge(domain, "a")); err != nil {
			t.Error(err)
		}
	}
	for _, domain := range domains {
		if err := s.CleanUp(ctx, challenge(domain, "a")); err != nil {
			t.Error(err)
		}
	}
}

func TestOneChallengeAtATimeWithinAnOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSingle(t, 10*time.Second)
		asked := 0
		settled := func(_ context.Context, c acme.Challenge) (bool, error) {
			if c.Identifier.Value != "a.test" {
				t.Errorf("asked about %s", c.Identifier.Value)
			}
			asked++
			return asked == 4, nil
		}
		s, err := dns01.New(p, dns01.Options{Challenge: unchecked(), Settled: settled})
		if err != nil {
			t.Fatal(err)
		}
		order(t.Context(), t, s, "a.test", "b.test")
		want := []string{"0s write a.test", "3s remove a.test", "13s write b.test", "13s remove b.test"}
		if diff := cmp.Diff(want, p.events); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestOneChallengeAtATimeByThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSingle(t, 10*time.Second)
		s, err := dns01.New(p, dns01.Options{Challenge: unchecked()})
		if err != nil {
			t.Fatal(err)
		}
		order(t.Context(), t, s, "a.test", "b.test")
		want := []string{"0s write a.test", "10s remove a.test", "20s write b.test", "20s remove b.test"}
		if diff := cmp.Diff(want, p.events); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestOneChallengeAtATimeOfManyOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSingle(t, time.Second)
		settled := func(context.Context, acme.Challenge) (bool, error) { return true, nil }
		s, err := dns01.New(p, dns01.Options{Challenge: unchecked(), Settled: settled})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for _, domain := range []string{"a.test", "b.test", "c.test", "d.test"} {
			group.Go(func() { order(t.Context(), t, s, domain, "www."+domain) })
		}
		group.Wait()
		if n := len(p.events); n != 16 {
			t.Errorf("there were %d events: %q", n, p.events)
		}
		slices.Sort(p.events)
		if compact := slices.Compact(p.events); len(compact) != 16 {
			t.Errorf("something was done twice: %q", compact)
		}
	})
}

func TestNoTurnBeforeTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSingle(t, 0)
		settled := func(context.Context, acme.Challenge) (bool, error) { return false, nil }
		s, err := dns01.New(p, dns01.Options{Challenge: unchecked(), Settled: settled})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, domain := range []string{"a.test", "b.test"} {
			if err := s.Present(ctx, challenge(domain, "a")); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Wait(ctx, challenge("a.test", "a")); err != nil {
			t.Fatal(err)
		}
		err = s.Wait(ctx, challenge("b.test", "a"))
		want := "the DNS provider holds one challenge at a time, and had no turn for b.test: context deadline exceeded"
		if err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
		for _, domain := range []string{"a.test", "b.test"} {
			if err := s.CleanUp(ctx, challenge(domain, "a")); err != nil {
				t.Error(err)
			}
		}
		if want := []string{"0s write a.test", "1m0s remove a.test"}; !slices.Equal(p.events, want) {
			t.Errorf("got %q", p.events)
		}
	})
}

func TestTheTurnEndsWithoutARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSingle(t, time.Second)
		s, err := dns01.New(p, dns01.Options{Challenge: unchecked()})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(t.Context(), challenge("a.test", "a")); err != nil {
			t.Fatal(err)
		}
		if err := s.CleanUp(t.Context(), challenge("a.test", "a")); err != nil {
			t.Fatal(err)
		}
		order(t.Context(), t, s, "b.test")
		if want := []string{"1s write b.test", "1s remove b.test"}; !slices.Equal(p.events, want) {
			t.Errorf("got %q", p.events)
		}
	})
}

func TestEqualChallengesShareARecord(t *testing.T) {
	written, removed := 0, 0
	p := quick(time.Minute)
	p.present = func(string, string) error { written++; return nil }
	p.cleanUp = func(string, string) error { removed++; return nil }
	s, err := dns01.New(p, dns01.Options{Challenge: unchecked()})
	if err != nil {
		t.Fatal(err)
	}
	order(t.Context(), t, s, "a.test", "a.test")
	if written != 1 || removed != 1 {
		t.Errorf("written %d times, removed %d times", written, removed)
	}
}
