package pipeline

import (
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// quietWindow is how long nothing may have changed before a new negative verdict is published.
	quietWindow = 500 * time.Millisecond
	// maxSettle is how long a stream of changes may put that off.
	maxSettle = 2 * time.Second
)

// settleWindow is the time in which a new negative verdict may only be early: an operator applies a route, and its
// middleware a moment later. Until the window is over no such verdict is published, and routes whose references are
// missing keep their last good handler.
type settleWindow struct {
	since time.Time // when the window was opened
	until time.Time // when it is over; zero while it is closed
}

// extend opens the window or keeps it open.
func (w *settleWindow) extend(now time.Time) {
	if w.until.IsZero() {
		w.since = now
	}
	w.until = earliest(now.Add(quietWindow), w.since.Add(maxSettle))
}

// settle ends the settle window: the verdicts of the latest table are final. Only stale routes make another table
// necessary.
func (p *Pipeline) settle(now time.Time) {
	latest := p.latest()
	if stale := latest.compiled.StaleRoutes; len(stale) > 0 {
		for _, ref := range stale {
			p.changed[ref], p.rebuilt[ref] = struct{}{}, struct{}{}
		}
		p.compile(now, true)
		return
	}
	p.settling = settleWindow{}
	latest.final = true
	if p.waiting == nil {
		p.amend(p.publishVerdicts())
	}
}

// latest returns the table that was compiled last.
func (p *Pipeline) latest() *table {
	if p.waiting != nil {
		return p.waiting
	}
	return &p.active
}

// publishVerdicts passes to the sinks what has changed since the last call. Recovery is published at once, everything
// else only when the active table is final. It returns what it has published.
func (p *Pipeline) publishVerdicts() (worse, recovered []dynamic.Verdict) {
	worse, recovered = Difference(p.published, p.active.verdicts)
	if p.active.final {
		p.published = p.active.verdicts
	} else {
		p.published, worse = without(p.published, recovered), nil
	}
	if p.options.Metrics != nil {
		p.options.Metrics.SetQuarantined(Count(p.published, dynamic.Quarantined))
		p.options.Metrics.SetRetained(Count(p.published, dynamic.Retained))
	}
	published := slices.Concat(worse, recovered)
	if len(published) == 0 {
		return nil, nil
	}
	for _, sink := range p.options.Sinks {
		sink.Publish(slices.Clone(published))
	}
	return worse, recovered
}
