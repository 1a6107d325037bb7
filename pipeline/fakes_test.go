package pipeline_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sender is a provider that sends what a test gives it.
type sender chan dynamic.Message

func (s sender) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	for {
		select {
		case message := <-s:
			messages <- message
		case <-ctx.Done():
			return nil
		}
	}
}

// rig is a pipeline with a real hub and fakes around it, in a test's bubble.
type rig struct {
	*pipeline.Pipeline
	providers map[string]sender
	begin     time.Time

	mu      sync.Mutex
	log     record
	known   map[string]bool
	sink    setSink  // a second consumer of endpoint sets
	named   []string // endpoint sets of the last compilation, in order
	flushAt time.Time
	failed  chan struct{}
}

// record is what the fakes have seen.
type record struct {
	compiled  []compilation
	served    []*dynamic.Configuration // activated, in order
	applied   []string                 // keys of applied sets
	flushes   int
	watched   [][]string
	published [][]dynamic.Verdict
	when      []time.Time // of each publication
	reloads   []metrics.Reload

	quarantined int
	retained    int
}

// seen returns what the fakes have seen until now.
func (r *rig) seen() record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log
}

// compilation is one call of Compile.
type compilation struct {
	at      time.Duration
	final   bool
	changed []string
}

func newRig(t *testing.T, names ...string) *rig {
	t.Helper()
	return newRigWith(t, nil, names...)
}

// newRigWith is newRig with other options.
func newRigWith(t *testing.T, change func(*pipeline.Options), names ...string) *rig {
	t.Helper()
	r := &rig{providers: map[string]sender{}, begin: time.Now(), known: map[string]bool{}, failed: make(chan struct{}, 1)}
	entries := make([]provider.Entry, 0, len(names))
	for _, name := range names {
		r.providers[name] = make(sender)
		entries = append(entries, provider.Entry{Name: name, Provider: r.providers[name], Required: true})
	}
	options := pipeline.Options{
		Source:        provider.NewHub(entries, telemetry.Discard{}),
		Compiler:      r,
		Endpoints:     (*rigEndpoints)(r),
		EndpointSinks: []pipeline.EndpointSink{&r.sink},
		Resolver:      r,
		Sinks:         []pipeline.VerdictSink{r},
		Metrics:       r,
		Logger:        telemetry.Discard{},
	}
	if change != nil {
		change(&options)
	}
	r.Pipeline = pipeline.New(options)
	return r
}

// run starts the pipeline until the test ends.
func (r *rig) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	synctest.Wait()
}

func (r *rig) send(name string, configuration *dynamic.Configuration) {
	r.providers[name] <- dynamic.Message{Configuration: configuration}
	synctest.Wait()
}

func (r *rig) endpoints(name string, keys ...string) {
	message := dynamic.Message{}
	for _, key := range keys {
		message.Endpoints = append(message.Endpoints, dynamic.EndpointSet{Key: key})
	}
	r.providers[name] <- message
	synctest.Wait()
}

// pass lets the clock go on.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

// Compile takes a router whose service begins with "set:" to need that endpoint set, one with the middleware "missing"
// to be quarantined (and, with the service "stale", to keep its last handler until its verdict is final), and one with
// the rule "bad" to be degraded.
func (r *rig) Compile(input router.Input) router.Compiled {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := []string{}
	for _, ref := range input.Changed {
		changed = append(changed, ref.Name)
	}
	r.log.compiled = append(r.log.compiled, compilation{at: time.Since(r.begin), final: input.Final, changed: changed})
	result := router.Compiled{Activate: func(uint64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log.served = append(r.log.served, input.Configuration)
	}}
	var sets []string
	for _, name := range slices.Sorted(input.Configuration.HTTP.Routers.Keys()) {
		router := input.Configuration.HTTP.Routers.Get(name)
		if len(router.Service) > 4 && router.Service[:4] == "set:" {
			sets = append(sets, router.Service[4:])
		}
		ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: name}
		if router.Service == "stale" && !input.Final {
			result.StaleRoutes = append(result.StaleRoutes, ref)
		}
		if slices.Contains(router.Middlewares, "missing") {
			result.Verdicts = append(result.Verdicts, dynamic.Verdict{Ref: ref, Status: dynamic.Quarantined, Reason: "missing"})
		}
		if router.Rule == "bad" {
			result.Verdicts = append(result.Verdicts, dynamic.Verdict{Ref: ref, Status: dynamic.Degraded, Reason: "bad"})
		}
	}
	slices.Sort(sets)
	sets = slices.Compact(sets)
	result.AddedEndpointSets, result.RemovedEndpointSets = beyond(sets, r.named), beyond(r.named, sets)
	r.named = sets
	return result
}

// Guards returns nothing.
func (r *rig) Guards(*dynamic.Configuration, dynamic.Ref) []string { return nil }

// Validate takes a router with the rule "invalid" to be invalid.
func (r *rig) Validate(ref dynamic.Ref, object any) dynamic.Verdict {
	verdict := dynamic.Verdict{Ref: ref}
	if router, ok := object.(*dynamic.Router); ok && router.Rule == "invalid" {
		verdict.Status, verdict.Code, verdict.Reason = dynamic.Quarantined, dynamic.CodeInvalidRule, "invalid"
	}
	return verdict
}

// beyond returns the strings of one list that are not in the other.
func beyond(one, other []string) []string {
	return slices.DeleteFunc(slices.Clone(one), func(s string) bool { return slices.Contains(other, s) })
}

// setSink keeps the endpoint sets that it receives.
type setSink struct {
	mu   sync.Mutex
	sets []dynamic.EndpointSet
}

func (s *setSink) Apply(set dynamic.EndpointSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets = append(s.sets, set)
}

func (s *setSink) received() []dynamic.EndpointSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sets)
}

// rigEndpoints is the rig as Endpoints.
type rigEndpoints rig

func (r *rigEndpoints) Apply(set dynamic.EndpointSet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.applied = append(r.log.applied, set.Key)
	r.known[set.Key] = !set.Deleted
}

func (r *rigEndpoints) Known(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[key]
}

func (r *rigEndpoints) Changed() <-chan struct{} { return r.failed }

func (r *rigEndpoints) Flush(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.flushes++
	if r.flushAt.After(now) {
		return r.flushAt
	}
	return time.Time{}
}

func (r *rig) Watch(keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.watched = append(r.log.watched, keys)
}

func (r *rig) Publish(verdicts []dynamic.Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.published = append(r.log.published, verdicts)
	r.log.when = append(r.log.when, time.Now())
}

func (r *rig) SetQuarantined(objects int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.quarantined = objects
}

func (r *rig) SetRetained(objects int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.retained = objects
}

func (r *rig) Reloaded(reload metrics.Reload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.reloads = append(r.log.reloads, reload)
}

// moments returns when the compilations were, since the rig began.
func (r *rig) moments() []time.Duration {
	var result []time.Duration
	for _, one := range r.seen().compiled {
		result = append(result, one.at)
	}
	return result
}

// routers makes a configuration of routers, given as name and rule in turn.
func routers(namesAndRules ...string) *dynamic.Configuration {
	http := &dynamic.HTTPConfiguration{Routers: immutable.Of(map[string]*dynamic.Router{})}
	for i := 0; i < len(namesAndRules); i += 2 {
		http.Routers = http.Routers.With(namesAndRules[i], &dynamic.Router{Rule: namesAndRules[i+1], Service: "s"})
	}
	return &dynamic.Configuration{HTTP: http}
}

func routerRef(name string) dynamic.Ref { return dynamic.Ref{Kind: dynamic.KindRouter, Name: name} }

func names(refs map[dynamic.Ref]struct{}) []string {
	result := []string{}
	for _, ref := range pipeline.SortedRefs(refs) {
		result = append(result, ref.String())
	}
	return result
}
