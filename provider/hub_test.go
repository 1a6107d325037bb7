package provider

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a scripted provider.
type fake func(ctx context.Context, messages chan<- dynamic.Message) error

func (f fake) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	return f(ctx, messages)
}

// script sends messages and then waits for the end.
func script(messages ...dynamic.Message) fake {
	return func(ctx context.Context, out chan<- dynamic.Message) error {
		for _, message := range messages {
			out <- message
		}
		<-ctx.Done()
		return nil
	}
}

// start runs a hub until the test ends.
func start(t *testing.T, hub *Hub) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	synctest.Wait()
}

// pass lets the clock of the test's bubble go on.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func set(key string, version uint64, addresses ...string) dynamic.EndpointSet {
	one := dynamic.EndpointSet{Key: key, Version: version}
	for _, address := range addresses {
		one.Endpoints = append(one.Endpoints, dynamic.Endpoint{Address: netip.MustParseAddrPort(address)})
	}
	return one
}

func TestHubCollectsTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, latest := &dynamic.Configuration{}, &dynamic.Configuration{}
		hub := NewHub([]Entry{
			{Name: "a", Provider: script(
				dynamic.Message{Provider: "a", Configuration: old},
				dynamic.Message{Configuration: latest},
			), Required: true},
			{Name: "b", Provider: script()},
		}, telemetry.Discard{})
		start(t, hub)
		<-hub.Changed()
		update := hub.Take()
		if update.Configurations["a"] != latest || len(update.Configurations) != 1 {
			t.Errorf("configurations = %v, want the latest of a", update.Configurations)
		}
		if diff := cmp.Diff([]string{"a"}, update.ChangedConfigurations); diff != "" {
			t.Errorf("changed configurations (-want +got):\n%s", diff)
		}
		want := map[string]Status{
			"a": {State: dynamic.StateSynced, Since: time.Now(), LastMessage: time.Now(), Required: true},
			"b": {State: dynamic.StatePending, Since: time.Now()},
		}
		if diff := cmp.Diff(want, update.States); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		if again := hub.Take(); len(again.ChangedConfigurations) != 0 || again.Configurations["a"] != latest {
			t.Errorf("a second Take = %+v, want the configuration and no change", again)
		}
		select {
		case <-hub.Changed():
			t.Error("many messages made more than one wake-up")
		default:
		}
	})
}

func TestHubRepeatedConfigurationIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		same, next := &dynamic.Configuration{}, make(chan struct{})
		hub := NewHub([]Entry{{Name: "a", Provider: fake(func(ctx context.Context, out chan<- dynamic.Message) error {
			out <- dynamic.Message{Configuration: same}
			<-next
			out <- dynamic.Message{Configuration: same}
			<-ctx.Done()
			return nil
		})}}, telemetry.Discard{})
		start(t, hub)
		hub.Take()
		close(next)
		synctest.Wait()
		if update := hub.Take(); len(update.ChangedConfigurations) != 0 {
			t.Errorf("changed = %v, want none for the same pointer", update.ChangedConfigurations)
		}
	})
}

func TestHubEndpoints(t *testing.T) {
	gone := dynamic.EndpointSet{Key: "k", Deleted: true}
	tests := []struct {
		name string
		sets []dynamic.EndpointSet
		want []dynamic.EndpointSet
	}{
		{
			name: "the last set of each key, in order of arrival and with growing versions",
			sets: []dynamic.EndpointSet{set("k", 0, "192.0.2.1:1"), set("l", 0), set("k", 0, "192.0.2.2:1")},
			want: []dynamic.EndpointSet{set("k", 1, "192.0.2.2:1"), set("l", 2)},
		},
		{
			name: "versions of providers do not matter",
			sets: []dynamic.EndpointSet{set("k", 9, "192.0.2.2:1"), set("k", 7, "192.0.2.1:1")},
			want: []dynamic.EndpointSet{set("k", 1, "192.0.2.1:1")},
		},
		{
			name: "a repeated set is delivered once",
			sets: []dynamic.EndpointSet{set("k", 0, "192.0.2.2:1"), set("k", 0, "192.0.2.2:1")},
			want: []dynamic.EndpointSet{set("k", 1, "192.0.2.2:1")},
		},
		{
			name: "a deleted key",
			sets: []dynamic.EndpointSet{set("k", 0, "192.0.2.2:1"), gone},
			want: []dynamic.EndpointSet{{Key: "k", Version: 1, Deleted: true}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hub := NewHub([]Entry{{Name: "a", Provider: script(dynamic.Message{Endpoints: test.sets})}}, telemetry.Discard{})
				start(t, hub)
				if diff := cmp.Diff(test.want, hub.Take().Endpoints, cmp.Comparer(sameAddress)); diff != "" {
					t.Errorf("endpoints (-want +got):\n%s", diff)
				}
				if again := hub.Take().Endpoints; len(again) != 0 {
					t.Errorf("a second Take has %v", again)
				}
			})
		})
	}
}

func sameAddress(a, b netip.AddrPort) bool { return a == b }

func TestHubStartsAgain(t *testing.T) {
	tests := map[string]func() error{
		"after an error": func() error { return errors.New("broken") },
		"after a panic":  func() error { panic("broken") },
	}
	for name, fail := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts []time.Time
				configuration := &dynamic.Configuration{}
				hub := NewHub([]Entry{{Name: "a", Provider: fake(func(_ context.Context, out chan<- dynamic.Message) error {
					starts = append(starts, time.Now())
					if len(starts) == 1 {
						out <- dynamic.Message{Configuration: configuration, Endpoints: []dynamic.EndpointSet{set("k", 7)}}
					} else {
						out <- dynamic.Message{Endpoints: []dynamic.EndpointSet{set("k", 1)}}
					}
					return fail()
				})}}, telemetry.Discard{})
				start(t, hub)
				first := hub.Take()
				if status := first.States["a"]; status.State != dynamic.StateSynced || !strings.Contains(status.Reason, "broken") {
					t.Errorf("status = %+v, want synced with the reason of the failure", status)
				}
				pass(5 * time.Minute)
				update := hub.Take()
				if update.Configurations["a"] != configuration {
					t.Error("the last state did not stay")
				}
				if len(update.Endpoints) != 1 || update.Endpoints[0].Version <= first.Endpoints[0].Version {
					t.Errorf("endpoints = %+v, want a later version though the new run counts from 1", update.Endpoints)
				}
				checkBackoff(t, starts)
			})
		})
	}
}

// checkBackoff expects pauses that double up to a minute, each shortened by up to a half.
func checkBackoff(t *testing.T, starts []time.Time) {
	t.Helper()
	delay := time.Second
	for i := range len(starts) - 1 {
		if pause := starts[i+1].Sub(starts[i]); pause < delay/2 || pause > delay {
			t.Errorf("pause %d is %s, want %s to %s", i+1, pause, delay/2, delay)
		}
		delay = min(2*delay, time.Minute)
	}
	if len(starts) < 8 || len(starts) > 16 {
		t.Errorf("%d starts in five minutes, want about ten", len(starts))
	}
}

func TestHubBackoffBeginsAnewAfterASteadyRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends, starts []time.Time
		hub := NewHub([]Entry{{Name: "a", Provider: fake(func(ctx context.Context, _ chan<- dynamic.Message) error {
			starts = append(starts, time.Now())
			wait := time.Duration(0)
			if len(starts) > 4 {
				wait = 2 * steadyRun
			}
			pause := time.NewTimer(wait)
			select {
			case <-pause.C:
			case <-ctx.Done():
				return nil
			}
			ends = append(ends, time.Now())
			return errors.New("broken")
		})}}, telemetry.Discard{})
		start(t, hub)
		pass(10 * time.Minute)
		if pause := starts[5].Sub(ends[4]); pause > firstRestartDelay {
			t.Errorf("pause after a steady run = %s, want at most %s", pause, firstRestartDelay)
		}
	})
}

func TestHubStates(t *testing.T) {
	tests := []struct {
		name     string
		messages []dynamic.Message
		want     dynamic.ProviderState
		reason   string
	}{
		{"nothing yet", nil, dynamic.StatePending, ""},
		{"still pending, with a reason", []dynamic.Message{{Reason: "connecting"}}, dynamic.StatePending, "connecting"},
		{"a first configuration", []dynamic.Message{{Configuration: &dynamic.Configuration{}}}, dynamic.StateSynced, ""},
		{
			"endpoints alone do not sync",
			[]dynamic.Message{{Endpoints: []dynamic.EndpointSet{set("k", 1)}}},
			dynamic.StatePending, "",
		},
		{
			"absent",
			[]dynamic.Message{{State: dynamic.StateAbsent, Reason: "no such API"}},
			dynamic.StateAbsent,
			"no such API",
		},
		{
			"forbidden stays until the provider says otherwise",
			[]dynamic.Message{{State: dynamic.StateForbidden, Reason: "rbac"}, {Configuration: &dynamic.Configuration{}}},
			dynamic.StateForbidden, "rbac",
		},
		{
			"another provider's name is refused",
			[]dynamic.Message{{Provider: "b", Configuration: &dynamic.Configuration{}}},
			dynamic.StatePending, "",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hub := NewHub([]Entry{{Name: "a", Provider: script(test.messages...)}}, telemetry.Discard{})
				start(t, hub)
				status := hub.Take().States["a"]
				if status.State != test.want || status.Reason != test.reason {
					t.Errorf("status = %s (%q), want %s (%q)", status.State, status.Reason, test.want, test.reason)
				}
			})
		})
	}
}

func TestHubTimesOut(t *testing.T) {
	tests := map[string]fake{
		"a provider that is silent": script(),
		"a provider that has returned": func(context.Context, chan<- dynamic.Message) error {
			return nil
		},
		"a provider that keeps failing": func(context.Context, chan<- dynamic.Message) error {
			return errors.New("broken")
		},
	}
	for name, provider := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hub := NewHub([]Entry{{Name: "a", Provider: provider}}, telemetry.Discard{}, WithFirstStateTimeout(3*time.Second))
				begin := time.Now()
				start(t, hub)
				pass(2900 * time.Millisecond)
				if state := hub.Take().States["a"].State; state != dynamic.StatePending {
					t.Errorf("before the timeout: %s", state)
				}
				pass(200 * time.Millisecond)
				status := hub.Take().States["a"]
				if status.State != dynamic.StateTimedOut || status.Since.Sub(begin) != 3*time.Second {
					t.Errorf("after the timeout: %+v", status)
				}
			})
		})
	}
}

func TestHubLateFirstState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := NewHub([]Entry{{Name: "a", Provider: fake(func(ctx context.Context, out chan<- dynamic.Message) error {
			<-time.NewTimer(time.Minute).C
			out <- dynamic.Message{Configuration: &dynamic.Configuration{}}
			<-ctx.Done()
			return nil
		})}}, telemetry.Discard{})
		start(t, hub)
		pass(2 * time.Minute)
		if status := hub.Take().States["a"]; status.State != dynamic.StateSynced || status.Reason != "" {
			t.Errorf("status = %+v, want synced", status)
		}
	})
}

func TestHubStopsWhileAProviderSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := NewHub([]Entry{{Name: "a", Provider: fake(func(ctx context.Context, out chan<- dynamic.Message) error {
			<-ctx.Done()
			out <- dynamic.Message{} // it has not looked at ctx, and must not hang
			return nil
		})}}, telemetry.Discard{})
		start(t, hub)
	})
}

func TestHubLeavesAProviderThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, log := make(chan struct{}), &warnings{}
		hub := NewHub([]Entry{{Name: "stuck", Provider: fake(func(context.Context, chan<- dynamic.Message) error {
			<-release
			return nil
		})}, {Name: "quick", Provider: script()}}, log)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()
		if err := hub.Run(ctx); err != nil {
			t.Error(err)
		}
		if waited := time.Since(begin); waited != stopTimeout {
			t.Errorf("Run returned after %s, want %s", waited, stopTimeout)
		}
		if want := []string{"stuck"}; !slices.Equal(log.providers, want) {
			t.Errorf("warnings about %q, want %q", log.providers, want)
		}
		close(release)
	})
}

// warnings records which providers are named by warnings.
type warnings struct {
	telemetry.Discard
	providers []string
}

func (w *warnings) Warn(_ string, fields ...any) {
	w.providers = append(w.providers, fields[1].(string))
}

func TestHubRefusesBadNames(t *testing.T) {
	tests := map[string][]Entry{
		`a provider has no name`:                              {{Name: ""}},
		`provider "a" is duplicated`:                          {{Name: "a"}, {Name: "a"}},
		`provider "a@b": a provider's name may not contain @`: {{Name: "a@b"}},
	}
	for want, entries := range tests {
		if err := NewHub(entries, telemetry.Discard{}).Run(t.Context()); err == nil || err.Error() != want {
			t.Errorf("Run = %v, want %s", err, want)
		}
	}
}

func BenchmarkHubReceive(b *testing.B) {
	entry := Entry{Name: "a"}
	hub := NewHub([]Entry{entry}, telemetry.Discard{})
	for i := range 100_000 {
		hub.sets.put(set("key/"+time.Duration(i).String(), 1))
	}
	hub.Take()
	message := dynamic.Message{Endpoints: []dynamic.EndpointSet{set("key/1ns", 0, "192.0.2.1:1")}}
	b.ReportAllocs()
	for b.Loop() {
		hub.receive(entry, message)
	}
}
