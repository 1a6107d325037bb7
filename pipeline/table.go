package pipeline

import (
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// table is a compiled table, before or after its activation.
type table struct {
	compiled      router.Compiled
	took          time.Duration // to compile
	changed       []dynamic.Ref // since the table before, in order
	origins       origins       // of the objects in configuration
	configuration *dynamic.Configuration
	included      map[string]*dynamic.Configuration // what it was made of, by provider; never changed
	missing       []string                          // endpoint sets that it newly refers to and that have not arrived
	verdicts      []dynamic.Verdict
	final         bool // its settle window is over
	held          bool // it serves nothing new, and waits for the end of the settle window
	generation    uint64
	activated     time.Time
}

// compile makes a table of the merged configuration, which supersedes one that still waits for endpoint sets, and opens
// or closes the settle window as its verdicts demand. A table that only keeps stale routes serves nothing new, so it is
// not worth a generation and waits for the end of the window.
func (p *Pipeline) compile(now time.Time, final bool) {
	began, changed := time.Now(), sortedRefs(p.changed)
	compiled := p.options.Compiler.Compile(router.Input{Configuration: p.merged, Changed: changed, Final: final})
	next := &table{
		compiled:      compiled,
		took:          time.Since(began),
		changed:       changed,
		origins:       p.merger.origins,
		configuration: p.merged,
		included:      p.included,
		verdicts:      p.combine(p.merged, p.merger.origins, compiled.Verdicts),
	}
	p.references.compiled(compiled.AddedEndpointSets, compiled.RemovedEndpointSets)
	next.missing = p.references.missing(p.options.Endpoints.Known)
	worse, recovered := Difference(p.published, next.verdicts)
	stale := len(compiled.StaleRoutes) > 0
	if next.final = final || len(worse) == 0 && !stale; next.final {
		p.settling = settleWindow{}
	} else {
		p.settling.extend(now)
		next.held = stale && compiled.Unchanged && len(recovered) == 0
	}
	if p.waiting == nil || p.waiting.held {
		p.since = now
	}
	p.waiting = next
	p.await(now)
	p.watch()
}

// await notes since when each missing set has been waited for. The wait belongs to the set and not to the table: tables
// that supersede each other do not wait anew.
func (p *Pipeline) await(now time.Time) {
	before := p.awaited
	p.awaited = make(map[string]time.Time, len(p.waiting.missing))
	for _, key := range p.waiting.missing {
		since, ok := before[key]
		if !ok {
			since = now
		}
		p.awaited[key] = since
	}
}

// activateAt returns when the waiting table is activated even if endpoint sets are missing; zero when none does. A
// stream of tables that each refer to a further missing set must not keep everything else from being applied.
func (p *Pipeline) activateAt() time.Time {
	if p.waiting == nil || p.waiting.held {
		return time.Time{}
	}
	var last time.Time
	for _, key := range p.waiting.missing {
		if since := p.awaited[key]; since.After(last) {
			last = since
		}
	}
	return earliest(last.Add(maxWaitForEndpoints), p.since.Add(maxSuperseded))
}

// activate activates the waiting table if everything that it needs is there, or has been waited for long enough.
func (p *Pipeline) activate(now time.Time) {
	if p.waiting == nil || p.waiting.held {
		return
	}
	p.waiting.missing = slices.DeleteFunc(p.waiting.missing, p.options.Endpoints.Known)
	if len(p.waiting.missing) > 0 && p.activateAt().After(now) {
		return
	}
	next := p.waiting
	p.waiting = nil
	next.generation, next.activated = p.active.generation+1, now
	next.compiled.Activate(next.generation)
	next.compiled.Activate = nil // it may hold on to the table before
	before := p.active
	p.active = *next
	if len(p.options.Verdicts) > 0 { // Activation has bound addresses.
		p.active.verdicts = p.combine(p.active.configuration, p.active.origins, p.active.compiled.Verdicts)
	}
	p.options.Logger.Info("table activated", "generation", next.generation, "changed", len(p.changed),
		"servicesAwaitingEndpoints", len(next.missing))
	generation := p.generation(&before)
	// What was large once costs its memory, and a map each walk, also when it was cleared.
	p.changed, p.rebuilt, p.awaited = map[dynamic.Ref]struct{}{}, map[dynamic.Ref]struct{}{}, nil
	p.active.changed, p.active.missing = nil, nil
	p.active.compiled.AddedEndpointSets, p.active.compiled.RemovedEndpointSets = nil, nil
	clear(p.merging)
	p.references.activated(len(p.active.compiled.StaleRoutes) > 0)
	p.watch()
	generation.judge(p.publishVerdicts())
	p.remember(generation)
	p.measure()
}

// measure records the activation.
func (p *Pipeline) measure() {
	if p.options.Metrics == nil {
		return
	}
	p.options.Metrics.Reloaded(metrics.Reload{
		Generation:     p.active.generation,
		UnixSeconds:    float64(p.active.activated.UnixMilli()) / 1000,
		CompileSeconds: p.active.took.Seconds(),
		Lags:           p.generations[len(p.generations)-1].Lags,
	})
}

// watch gives the resolver the names that the active table and the waiting one need. A table with stale routes
// also needs those of the tables before it.
func (p *Pipeline) watch() {
	if p.options.Resolver == nil || !p.references.changed {
		return
	}
	p.references.changed = false
	keys := p.references.wanted()
	if slices.Equal(keys, p.watched) {
		return
	}
	p.watched = keys
	p.options.Resolver.Watch(slices.Clone(keys))
}
