// Package xds publishes what Sluice serves to xDS clients: gRPC applications without a sidecar, Envoy, and other
// Sluice processes.
//
// In flow the endpoint sets that the balancer gets (Publisher is a pipeline.EndpointSink) and the pipeline's State with
// the active configuration; out flow listeners, routes, clusters and endpoints (LDS, RDS, CDS, EDS of xDS v3) over
// gRPC. Package resource has the translation. A Publisher keeps the catalog of all resources, whose loop applies each
// change to the views; a view has the resources that a group of clients may see, with the subscriptions of their
// streams. An endpoint change is one changed EDS resource, and what is equal is not sent.
//
// The loop never waits for a client: a change marks the subscriptions to it. A stream has at most one response of a
// type under way, and composes the next one from what is marked then.
package xds

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/telemetry"
)

// wildcard is the name that stands for all resources of a type.
const wildcard = "*"

// announceInterval is the shortest time between two announcements of changed verdicts.
const announceInterval = time.Second

// Options are what a Publisher is made of. State and Logger are needed.
type Options struct {
	State  func() *pipeline.State
	Logger telemetry.Logger
	// Meter counts what is published and sent; nil counts nothing.
	Meter Meter
	// Views are the groups of namespaces that clients may be bound to, beside the one of all.
	Views [][]string
	// Started distinguishes the versions of this process from those of an earlier one.
	Started time.Time
}

// Publisher turns endpoint sets and services into xDS resources. Run is its loop; the other methods may be called from
// any goroutine.
type Publisher struct {
	options Options
	all     *view
	bound   map[string]*view // by the namespaces, as viewKey has them
	ready   chan struct{}    // closed with the first complete state
	wake    chan struct{}

	mu         sync.Mutex
	pending    map[string]dynamic.EndpointSet // not taken by the loop yet
	refusals   []dynamic.Verdict
	rejections map[rejectedType]dynamic.Verdict
	news       chan struct{}
	// unannounced is set when verdicts have changed that news does not tell of yet; announced is when it last did.
	unannounced bool
	announced   time.Time
}

// NewPublisher returns a Publisher that publishes nothing before Run.
func NewPublisher(options Options) *Publisher {
	if options.Meter == nil {
		options.Meter = noMeter{}
	}
	prefix := strconv.FormatInt(options.Started.UnixNano(), 36) + "-"
	absent := &absence{}
	p := &Publisher{
		options: options, all: newView(nil, prefix, absent), bound: map[string]*view{},
		ready: make(chan struct{}), wake: make(chan struct{}, 1),
		pending:    map[string]dynamic.EndpointSet{},
		rejections: map[rejectedType]dynamic.Verdict{}, news: make(chan struct{}, 1),
	}
	for _, namespaces := range options.Views {
		if key := viewKey(namespaces); p.bound[key] == nil {
			p.bound[key] = newView(setOf(namespaces), prefix, absent)
		}
	}
	return p
}

// viewKey returns the key of a view: its namespaces in order.
func viewKey(namespaces []string) string {
	sorted := slices.Clone(namespaces)
	slices.Sort(sorted)
	return strings.Join(slices.Compact(sorted), ",")
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// view returns the view of namespaces: of all for nil.
func (p *Publisher) view(namespaces []string) *view {
	if namespaces == nil {
		return p.all
	}
	return p.bound[viewKey(namespaces)]
}

// Apply implements pipeline.EndpointSink: it keeps the last set of each key for the loop.
func (p *Publisher) Apply(set dynamic.EndpointSet) {
	p.mu.Lock()
	p.pending[set.Key] = set
	p.mu.Unlock()
	p.rouse()
}

func (p *Publisher) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Changed implements pipeline.VerdictSource.
func (p *Publisher) Changed() <-chan struct{} { return p.news }

// Verdicts implements pipeline.VerdictSource: the services that are not published, and the resources that clients have
// refused.
func (p *Publisher) Verdicts() []dynamic.Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.AppendSeq(slices.Clone(p.refusals), maps.Values(p.rejections))
}

// Run publishes until ctx ends.
func (p *Publisher) Run(ctx context.Context) {
	loop := newLoop(p)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		state := p.options.State()
		next := loop.step(time.Now(), state)
		timer.Stop()
		if due := p.tell(time.Now()); !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-state.Changed:
		case <-timer.C:
		}
	}
}

// take returns the sets that have arrived since the last call.
func (p *Publisher) take() map[string]dynamic.EndpointSet {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) == 0 {
		return nil
	}
	taken := p.pending
	p.pending = map[string]dynamic.EndpointSet{}
	return taken
}

// refuse replaces the verdicts on services that are not published.
func (p *Publisher) refuse(verdicts []dynamic.Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.refusals, verdicts) {
		p.refusals = verdicts
		p.announce()
	}
}

// announce has the loop wake who reads Changed. The caller holds the lock.
func (p *Publisher) announce() {
	if !p.unannounced {
		p.unannounced = true
		p.rouse()
	}
}

// tell wakes who reads Changed if verdicts have changed, at most once in announceInterval: clients decide how often
// they reject. It returns when it is due; zero for not at all.
func (p *Publisher) tell(now time.Time) (due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.unannounced {
		return time.Time{}
	}
	if due = p.announced.Add(announceInterval); now.Before(due) {
		return due
	}
	p.unannounced, p.announced = false, now
	select {
	case p.news <- struct{}{}:
	default:
	}
	return time.Time{}
}
