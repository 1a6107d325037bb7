package pipeline

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// resolvedPrefix begins the keys of the endpoint sets that a Resolver publishes.
const resolvedPrefix = "dns/"

// table is a compiled table, before or after its activation.
type table struct {
	compiled      Compiled
	took          time.Duration // to compile
	changed       []dynamic.Ref // since the table before, in order
	origins       origins       // of the objects in configuration
	configuration *dynamic.Configuration
	included      map[string]*dynamic.Configuration // what it was made of, by provider; never changed
	references    map[string]bool                   // keys of endpoint sets
	kept          map[string]bool                   // keys that handlers may still use that an unsettled table has kept
	missing       []string                          // keys that it newly refers to and that have not arrived
	verdicts      []dynamic.Verdict
	settled       bool
	generation    uint64
	activated     time.Time
}

// compile makes a table of the merged configuration. It supersedes one that still waits for endpoint sets.
func (p *Pipeline) compile(now time.Time, settled bool) {
	began, changed := time.Now(), sortedRefs(p.changed)
	compiled := p.options.Compiler.Compile(Input{
		Configuration: p.merged,
		Changed:       changed,
		Settled:       settled,
	})
	next := &table{
		compiled:      compiled,
		took:          time.Since(began),
		changed:       changed,
		origins:       p.merger.origins,
		configuration: p.merged,
		included:      p.included,
		references:    make(map[string]bool, len(compiled.EndpointSets)),
		verdicts:      combine(p.merged, p.merger.origins, compiled.Verdicts),
	}
	for _, key := range compiled.EndpointSets {
		if !next.references[key] && !p.active.references[key] && !p.options.Endpoints.Known(key) {
			next.missing = append(next.missing, key)
		}
		next.references[key] = true
	}
	alarms, _ := difference(p.published, next.verdicts)
	next.settled = settled || len(alarms) == 0 && !compiled.Kept
	if next.settled {
		p.grace.end()
	} else {
		p.grace.extend(now)
		next.kept = maps.Clone(p.active.references)
		maps.Copy(next.kept, p.active.kept)
	}
	if p.waiting == nil {
		p.since = now
	}
	p.waiting = next
	p.await(now)
	p.watch()
}

// relocate takes a merged configuration in which no object has changed, but perhaps where one is declared, or which
// providers have spoken.
func (p *Pipeline) relocate() {
	latest := &p.active
	if p.waiting != nil {
		latest = p.waiting
	}
	latest.configuration, latest.included, latest.origins = p.merged, p.included, p.merger.origins
	latest.verdicts = combine(p.merged, p.merger.origins, latest.compiled.Verdicts)
	if p.waiting == nil {
		clear(p.merging)
		p.amend(p.publishVerdicts())
	}
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

// activateAt returns when the waiting table is put to work even if endpoint sets are missing; zero when none waits. A
// stream of tables that each refer to a further missing set must not keep everything else from being put to work.
func (p *Pipeline) activateAt() time.Time {
	if p.waiting == nil {
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

// activate puts the waiting table to work if everything that it needs is there, or has been waited for long enough.
func (p *Pipeline) activate(now time.Time) {
	if p.waiting == nil {
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
	p.options.Logger.Info("table activated", "generation", next.generation, "changed", len(p.changed),
		"missingEndpointSets", len(next.missing))
	generation := p.generation(&before)
	clear(p.changed)
	clear(p.rebuilt)
	clear(p.merging)
	clear(p.awaited)
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
	p.options.Metrics.Reloaded(telemetry.Reload{
		Generation:     p.active.generation,
		Quarantined:    Quarantined(p.published),
		UnixSeconds:    float64(p.active.activated.UnixMilli()) / 1000,
		CompileSeconds: p.active.took.Seconds(),
		Lags:           p.generations[len(p.generations)-1].Lags,
	})
}

// watch tells the resolver which names the active table and the waiting one need. An unsettled table also needs those of
// the tables before it: a route that only keeps its last good handler keeps its endpoints.
func (p *Pipeline) watch() {
	if p.options.Resolver == nil {
		return
	}
	wanted := map[string]bool{}
	collect := func(references map[string]bool) {
		for key := range references {
			if strings.HasPrefix(key, resolvedPrefix) {
				wanted[key] = true
			}
		}
	}
	collect(p.active.references)
	collect(p.active.kept)
	if p.waiting != nil {
		collect(p.waiting.references)
	}
	keys := slices.Sorted(maps.Keys(wanted))
	if slices.Equal(keys, p.watched) {
		return
	}
	p.watched = keys
	p.options.Resolver.Watch(slices.Clone(keys))
}
