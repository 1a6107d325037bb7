// Package providertest is the contract of provider.Provider as a test suite, which every provider runs in its own tests
// with a source that can be changed.
package providertest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
)

// Subject is a provider under test.
type Subject struct {
	// Provider watches a source of its own.
	Provider provider.Provider
	// Change changes the source so that at least one object is another one afterwards and at least one is not. It may
	// be nil for a provider without configuration.
	Change func(t *testing.T)
	// Break makes a part of the source that has already been read impossible to read or to understand. It may be nil
	// where that cannot happen.
	Break func(t *testing.T)
}

// patience is how long the suite waits for what must happen.
const patience = time.Minute

// Run runs the suite; each test gets a subject of its own.
func Run(t *testing.T, subject func(t *testing.T) Subject) {
	t.Helper()
	t.Run("sends its state first", func(t *testing.T) {
		r := start(t, subject(t).Provider)
		checkFirst(t, r.next(t))
		r.stop(t)
	})
	t.Run("returns without a receiver", func(t *testing.T) {
		start(t, subject(t).Provider).stop(t)
	})
	t.Run("returns when the context has ended before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := startWith(ctx, cancel, subject(t).Provider)
		r.stop(t)
	})
	t.Run("sends its state again when it is started again", func(t *testing.T) {
		s := subject(t)
		for range 2 {
			r := start(t, s.Provider)
			checkFirst(t, r.next(t))
			r.stop(t)
		}
	})
	t.Run("keeps the pointers of what has not changed", func(t *testing.T) { keepsPointers(t, subject(t)) })
	t.Run("keeps the last good state", func(t *testing.T) { keepsState(t, subject(t)) })
}

// checkFirst checks that a message contains the provider's state.
func checkFirst(t *testing.T, m dynamic.Message) {
	t.Helper()
	if m.Configuration == nil && len(m.Endpoints) == 0 && m.State == dynamic.StateUnchanged {
		t.Errorf("the first message says nothing: %+v", m)
	}
	check(t, m)
}

// check checks what holds for every message.
func check(t *testing.T, m dynamic.Message) {
	t.Helper()
	if strings.Contains(m.Provider, "@") {
		t.Errorf("the provider's name %q contains @", m.Provider)
	}
	for _, set := range m.Endpoints {
		if set.Key == "" {
			t.Errorf("an endpoint set has no key: %+v", set)
		}
		if set.Deleted && len(set.Endpoints) > 0 {
			t.Errorf("the deleted set %s has endpoints", set.Key)
		}
		for i := 1; i < len(set.Endpoints); i++ {
			if set.Endpoints[i-1].Address.Compare(set.Endpoints[i].Address) >= 0 {
				t.Errorf("the endpoints of %s are not in order, or not unique", set.Key)
			}
		}
	}
	if m.Configuration == nil {
		return
	}
	for ref, object := range Objects(m.Configuration) {
		if object == nil {
			t.Errorf("%v is nil", ref)
		}
		if m.Configuration.Origins.Get(ref) == (dynamic.Origin{}) {
			t.Errorf("%v has no origin", ref)
		}
	}
	for _, verdict := range m.Configuration.Verdicts {
		if verdict.Status != dynamic.Accepted && verdict.Reason == "" {
			t.Errorf("the verdict on %v has no reason", verdict.Ref)
		}
	}
}

func keepsPointers(t *testing.T, s Subject) {
	t.Helper()
	if s.Change == nil {
		t.Skip("the provider has no configuration that changes")
	}
	r := start(t, s.Provider)
	before := Objects(r.configuration(t))
	s.Change(t)
	for {
		kept, changed := 0, 0
		after := Objects(r.configuration(t))
		for ref, object := range before {
			switch {
			case after[ref] == object:
				kept++
			case after[ref] != nil && dynamic.Equal(after[ref], object):
				t.Errorf("%v has not changed and has another pointer", ref)
			default:
				changed++
			}
		}
		if changed+len(after)-kept == 0 {
			continue // The message repeats the state from before the change.
		}
		if kept == 0 {
			t.Error("no object has kept its pointer")
		}
		break
	}
	r.stop(t)
}

func keepsState(t *testing.T, s Subject) {
	t.Helper()
	if s.Break == nil {
		t.Skip("the provider's source cannot be broken in part")
	}
	r := start(t, s.Provider)
	first := r.configuration(t)
	s.Break(t)
	after := first
	for len(after.Verdicts) <= len(first.Verdicts) {
		after = r.configuration(t)
	}
	before, now := Objects(first), Objects(after)
	for _, ref := range slices.Collect(maps.Keys(before)) {
		if now[ref] != before[ref] {
			t.Errorf("%v has not kept its last good state", ref)
		}
	}
	r.stop(t)
}

// running is a provider that has been started.
type running struct {
	cancel   context.CancelFunc
	messages chan dynamic.Message
	result   chan error
}

func start(t *testing.T, p provider.Provider) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	return startWith(ctx, cancel, p)
}

func startWith(ctx context.Context, cancel context.CancelFunc, p provider.Provider) *running {
	r := &running{cancel: cancel, messages: make(chan dynamic.Message), result: make(chan error, 1)}
	go func() { r.result <- p.Provide(ctx, r.messages) }()
	return r
}

// next returns the next message.
func (r *running) next(t *testing.T) dynamic.Message {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case m, open := <-r.messages:
		if !open {
			t.Fatal("the provider has closed the channel")
		}
		check(t, m)
		return m
	case err := <-r.result:
		t.Fatalf("the provider has returned: %v", err)
	case <-timer.C:
		t.Fatal("no message has come")
	}
	return dynamic.Message{}
}

// configuration returns the next configuration.
func (r *running) configuration(t *testing.T) *dynamic.Configuration {
	t.Helper()
	for {
		if m := r.next(t); m.Configuration != nil {
			return m.Configuration
		}
	}
}

// stop ends the provider and checks that it returns nil, and neither closes the channel nor sends afterwards.
func (r *running) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-r.result:
		if err != nil {
			t.Errorf("the provider returned %v when its context ended", err)
		}
	case <-timer.C:
		t.Fatal("the provider has not returned")
	}
	select {
	case m, open := <-r.messages:
		if !open {
			t.Error("the provider has closed the channel")
		} else {
			t.Errorf("the provider has sent after its return: %+v", m)
		}
	default:
	}
}
