package overload

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

const (
	// unlimited lets any number of connections in.
	unlimited = math.MaxInt64
	// entranceTime is how long a connection waits at most.
	entranceTime = 100 * time.Millisecond
)

// gate counts the connections that may be accepted until the next sample.
type gate struct {
	// left is how many are left; negative where more have come. room is how many there were.
	left, room atomic.Int64
}

func (g *gate) set(room int64) {
	g.room.Store(room)
	g.left.Store(room)
}

// tryEnter takes one, and reports whether one was left.
func (g *gate) tryEnter() bool { return g.left.Load() == unlimited || g.left.Add(-1) >= 0 }

// crowded reports whether half of them or more are taken.
func (g *gate) crowded() bool {
	room := g.room.Load()
	return room != unlimited && 2*g.left.Load() <= room
}

// enter takes one, and waits if none is left.
func (g *gate) enter(ctx context.Context) {
	if g.tryEnter() {
		return
	}
	timer := time.NewTimer(entranceTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Enter waits until a connection may be accepted: while StopAccepting is active, and where there is no room for more
// before the next sample. It waits a tenth of a second at most, so that an accept loop goes on with ten connections a
// second, among them those of health checks. It returns at once when ctx ends.
func (m *Ladder) Enter(ctx context.Context) { m.gate.enter(ctx) }

// TryEnter is Enter for a connection that cannot wait: it reports whether that may be accepted.
func (m *Ladder) TryEnter() bool { return m.gate.tryEnter() }

// Crowded reports whether half of the connections that may be accepted before the next sample have come, or more.
func (m *Ladder) Crowded() bool { return m.gate.crowded() }

// ReducesTimeouts reports whether idle connections are closed sooner.
func (m *Ladder) ReducesTimeouts() bool { return m.Active(ReduceTimeouts) }

// room returns how many connections may be accepted until the next sample, in which what they need shows. A burst that
// comes while the pressure is still low needs a limit most of all. The mutex is held.
func (m *Ladder) room() int64 {
	threshold := m.steps[StopAccepting].begins
	if threshold == 0 {
		return unlimited
	}
	if m.actions[StopAccepting].active {
		return 0
	}
	room := int64(unlimited)
	for i := range m.monitors {
		one := &m.monitors[i]
		pressure := max(one.last, one.counts)
		if !one.leadsTo(StopAccepting) {
			continue
		}
		room = min(room, int64(math.Round(max(threshold-pressure, 0)*one.Connections)))
	}
	return room
}
