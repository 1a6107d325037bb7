package pipeline

import (
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// quietWindow is how long nothing may have changed before a new negative verdict counts.
	quietWindow = 500 * time.Millisecond
	// maxGrace is how long changes that follow each other may put that off.
	maxGrace = 2 * time.Second
)

// grace is the time in which a new negative verdict may only be early: an operator who applies a route and then its
// middleware shall hear no alarm, and the route that served goes on serving.
type grace struct {
	since time.Time // when the first verdict that does not count yet came up
	until time.Time // when it counts; zero when there is none
}

// extend begins a quiet window, or begins it anew.
func (g *grace) extend(now time.Time) {
	if g.until.IsZero() {
		g.since = now
	}
	g.until = earliest(now.Add(quietWindow), g.since.Add(maxGrace))
}

func (g *grace) end() { *g = grace{} }

func (g *grace) over(now time.Time) bool { return reached(g.until, now) }

// publishVerdicts tells the sinks what has changed since they were last told. Recovery is told at once, everything else
// only when the active table is settled. It returns what it has told.
func (p *Pipeline) publishVerdicts() (alarms, recovered []dynamic.Verdict) {
	alarms, recovered = difference(p.published, p.active.verdicts)
	if p.active.settled {
		p.published = p.active.verdicts
	} else {
		p.published, alarms = without(p.published, recovered), nil
	}
	news := slices.Concat(alarms, recovered)
	if len(news) == 0 {
		return nil, nil
	}
	for _, sink := range p.options.Sinks {
		sink.Publish(slices.Clone(news))
	}
	return alarms, recovered
}
