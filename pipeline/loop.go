package pipeline

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
)

const (
	// maxWaitForEndpoints is how long an endpoint set that a table newly refers to is waited for.
	maxWaitForEndpoints = time.Second
	// maxSuperseded is how long tables that wait and supersede each other are put off altogether.
	maxSuperseded = 3 * time.Second
	// startupHold is how long the first compilation waits at most for providers that are still pending.
	startupHold = 500 * time.Millisecond
)

// Pipeline is the single writer. Its methods may be called from any goroutine; Run or Once may be called once.
type Pipeline struct {
	options Options
	merger  *merger
	state   atomic.Pointer[State]
	first   chan struct{} // closed with the first ready state
	probes  chan struct{} // received from by the loop

	// All below belongs to the loop.
	update   provider.Update
	dirty    map[string]bool // providers whose configuration has not been merged
	debounce debounce
	received map[string]time.Time     // when each of them came
	changed  map[dynamic.Ref]struct{} // since the active table
	touched  map[dynamic.Ref]struct{} // middlewares with changed files, not compiled yet
	rebuilt  map[dynamic.Ref]struct{} // those in changed that only files have changed
	merging  map[string]time.Time     // when each configuration came that no active table contains

	merged   *dynamic.Configuration
	included map[string]*dynamic.Configuration // what merged was made of, by provider; never changed
	active   table
	waiting  *table
	since    time.Time            // when the first of the tables was made that superseded each other until waiting
	awaited  map[string]time.Time // endpoint sets that are missing, and since when
	watched  []string
	// references are those of the latest table and of the active one to endpoint sets.
	references references

	opened    bool              // first is closed
	published []dynamic.Verdict // what the sinks have received, without what has recovered since
	settling  settleWindow

	generations []Generation  // the last ones; replaced, never written to
	news        chan struct{} // of the State that readers see
}

// New returns a Pipeline that does nothing before Run or Once.
func New(options Options) *Pipeline {
	hold := options.MaxHold
	if hold <= 0 {
		hold = DefaultMaxHold
	}
	p := &Pipeline{
		options:  options,
		merger:   newMerger(options.Precedence, options.Compiler),
		dirty:    map[string]bool{},
		debounce: newDebounce(hold),
		received: map[string]time.Time{},
		changed:  map[dynamic.Ref]struct{}{},
		touched:  map[dynamic.Ref]struct{}{},
		rebuilt:  map[dynamic.Ref]struct{}{},
		merging:  map[string]time.Time{},

		references: newReferences(),
		first:      make(chan struct{}),
		probes:     make(chan struct{}),
		news:       make(chan struct{}),
	}
	p.merged = p.merger.merged
	p.state.Store(&State{State: provider.State{Changed: p.news}, Providers: map[string]provider.Status{}})
	return p
}

// FirstReady returns a channel that is closed with the first State that is Ready; it stays so when a later one is not.
func (p *Pipeline) FirstReady() <-chan struct{} { return p.first }

// State returns how everything stands. It never returns nil.
func (p *Pipeline) State() *State { return p.state.Load() }

// Responds reports whether the loop of Run takes an event before ctx ends. It does not while it applies a change.
func (p *Pipeline) Responds(ctx context.Context) bool {
	select {
	case p.probes <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Run runs the source and the loop until ctx ends; it fails when the source cannot run. What is active stays active.
func (p *Pipeline) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var source sync.WaitGroup
	failed := make(chan error, 1)
	source.Go(func() {
		if err := p.options.Source.Run(ctx); err != nil {
			failed <- err
		}
	})
	defer source.Wait()
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var files <-chan struct{}
	if p.options.Files != nil {
		files = p.options.Files.Changed()
	}
	verdicts := make(chan struct{}, 1)
	for _, consumer := range p.options.Verdicts {
		source.Go(func() { pass(ctx, consumer.Changed(), verdicts) })
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-p.options.Source.Changed():
			p.receive(time.Now())
		case <-p.options.Endpoints.Changed():
		case <-files:
			p.touch(time.Now())
		case <-verdicts:
			p.judge()
		case <-p.probes:
		case <-timer.C:
		}
		timer.Stop()
		if next := p.step(time.Now()); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// receive takes what the source has collected. Endpoint sets go straight on.
func (p *Pipeline) receive(now time.Time) {
	p.update = p.options.Source.Take()
	for _, set := range p.update.Endpoints {
		p.options.Endpoints.Apply(set)
	}
	for _, sink := range p.options.EndpointSinks {
		for _, set := range p.update.Endpoints {
			sink.Apply(set)
		}
	}
	for _, name := range p.update.ChangedConfigurations {
		p.dirty[name] = true
		p.noteReceived(name, now)
	}
	if len(p.update.ChangedConfigurations) > 0 {
		p.debounce.note(now)
	}
	switch {
	case p.update.Immediate:
		p.debounce.release(now)
	case p.update.Paced:
		p.debounce.pace(now)
	}
}

// touch has the middlewares built anew whose files have changed.
func (p *Pipeline) touch(now time.Time) {
	for _, name := range p.options.Files.Stale() {
		p.touched[dynamic.Ref{Kind: dynamic.KindMiddleware, Name: name}] = struct{}{}
	}
	if len(p.touched) > 0 {
		p.debounce.note(now)
	}
}

// step does everything that is due and returns when something will be due next; zero means that only the source can
// bring something new. Its order is the order of the data: a settle window that is over is closed before newer changes
// are looked at, so that these get a window of their own.
func (p *Pipeline) step(now time.Time) (next time.Time) {
	if reached(p.settling.until, now) {
		p.settle(now)
	}
	p.activate(now)
	if reached(p.applyAt(), now) {
		began := time.Now()
		p.apply(now, false)
		p.activate(now)
		p.debounce.measured(began, time.Now())
	}
	flush := p.options.Endpoints.Flush(now)
	p.publishState()
	return earliest(p.applyAt(), p.activateAt(), p.settling.until, flush)
}

// applyAt returns when configuration changes are applied. The first time, providers that are still pending are waited
// for, so that Sluice does not begin with a part of its routes where all of them are a moment away.
func (p *Pipeline) applyAt() time.Time {
	due := p.debounce.due()
	if due.IsZero() || p.active.generation > 0 || p.waiting != nil {
		return due
	}
	if p.pending() {
		return p.debounce.first.Add(startupHold)
	}
	return p.debounce.first
}

func (p *Pipeline) pending() bool {
	for _, status := range p.update.States {
		if status.State == dynamic.StatePending {
			return true
		}
	}
	return false
}

// apply merges the providers that have changed, and compiles the result unless every object is the same.
func (p *Pipeline) apply(now time.Time, final bool) {
	p.debounce.applied(now)
	merged, changed := p.merger.merge(mergeInput{
		configurations: p.update.Configurations, providers: slices.Sorted(maps.Keys(p.dirty)), touched: p.touched,
		verdicts: p.latest().verdicts, now: now,
	})
	p.merged, p.included = merged, p.update.Configurations
	clear(p.dirty)
	p.noteMerged()
	for ref := range p.touched {
		if _, rebuilt := changed[ref]; rebuilt {
			p.rebuilt[ref] = struct{}{}
		}
	}
	clear(p.touched)
	if len(changed) > 0 || p.waiting == nil && p.active.generation == 0 {
		maps.Copy(p.changed, changed)
		p.compile(now, final)
		return
	}
	// Perhaps an object is declared in another place, or another provider has spoken.
	latest := p.latest()
	latest.configuration, latest.included, latest.origins = p.merged, p.included, p.merger.origins
	latest.verdicts = p.combine(p.merged, p.merger.origins, latest.compiled.Verdicts)
	if p.waiting == nil {
		clear(p.merging)
		p.amend(p.publishVerdicts())
	}
}
