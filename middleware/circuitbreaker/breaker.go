package circuitbreaker

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// States of a breaker in metrics and the API.
const (
	standby    = "standby"
	tripped    = "tripped"
	recovering = "recovering"
)

// phase is the time between two changes of state. It is immutable except for credit.
type phase struct {
	state string
	// from and until are its limits since the breaker's origin; standby has no end.
	from, until time.Duration
	// window counts the requests that arrive in this phase, however long they take. It is new for a recovery and kept for
	// the following standby, since requests before a trip are not representative after it. It is nil while tripped.
	window *window
	// refusal is the reason recorded for refused requests.
	refusal string
	// outage is the current outage; nil in standby.
	outage *outage
	// credit is the sum of the shares of requests during recovery, in units of 1/2^32: a request passes whenever the sum
	// reaches the next integer.
	credit atomic.Uint64
}

// outage is the time from the first trip until a recovery succeeds.
type outage struct {
	began time.Duration
	trips int
	// refused is the breaker's count of refused requests at its beginning.
	refused uint64
}

// breaker is the circuit breaker of one owner, or the shared one.
type breaker struct {
	definition *CircuitBreaker
	owner      string
	origin     time.Time
	phase      atomic.Pointer[phase]
	refused    atomic.Uint64
}

func newBreaker(definition *CircuitBreaker, owner string) *breaker {
	b := &breaker{definition: definition, owner: owner, origin: time.Now()}
	b.phase.Store(&phase{state: standby, window: newWindow(definition.expression)})
	return b
}

// NoRetain implements httpio.NoRetainer.
func (*breaker) NoRetain() {}

// now returns the monotonic time since the breaker was made.
func (b *breaker) now() time.Duration { return time.Since(b.origin) }

// Status returns the current state: "standby", "tripped" or "recovering". There are no levels.
func (b *breaker) Status() (state string, levels map[string]int64) {
	p := b.phase.Load()
	switch {
	case p.state == standby || b.now() < p.until:
		return p.state, nil
	case p.state == tripped:
		return recovering, nil
	}
	return standby, nil
}

// Wrap returns a handler that calls next while the breaker lets requests pass, and otherwise answers itself.
func (b *breaker) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		window, refusal := b.admit()
		if window == nil {
			b.refuse(w, r, refusal)
			return
		}
		b.serve(w, r, next, window)
	})
}

// admit returns the window that counts an admitted request, or nil and the reason of a refusal.
func (b *breaker) admit() (*window, string) {
	for {
		p := b.phase.Load()
		if p.state == standby {
			return p.window, ""
		}
		now := b.now()
		switch {
		case now >= p.until && p.state == tripped:
			b.recover(p, now)
		case now >= p.until:
			b.close(p, now)
		case p.state == recovering && p.admits(now):
			return p.window, ""
		default:
			return nil, p.refusal
		}
	}
}

// admits reports whether a request may pass during recovery: the first one, and a share of the others that grows
// linearly from none to all. Shares add up, so that admitted requests are spread evenly at any rate.
func (p *phase) admits(now time.Duration) bool {
	const whole = 1 << 32
	share := uint64(whole * float64(now-p.from) / float64(p.until-p.from))
	share = max(share, 1)
	sum := p.credit.Add(share)
	return sum/whole != (sum-share)/whole
}

// refuse answers instead of the service.
func (b *breaker) refuse(w http.ResponseWriter, r *http.Request, reason string) {
	b.refused.Add(1)
	b.definition.refused.Add(1)
	telemetry.RecordFrom(r.Context()).Code = telemetry.CodeTripped
	answer.Refuse(w, r, b.definition.status, b.definition.name, reason)
}

// is returns the reason for the request's record.
func (b *breaker) is(state string) string {
	return "the circuit breaker of " + b.owner + " is " + state
}

// recover changes from tripped to recovering.
func (b *breaker) recover(p *phase, now time.Duration) {
	next := &phase{
		state: recovering, from: now, until: now + b.definition.recovery, window: newWindow(b.definition.expression),
		outage:  p.outage,
		refusal: b.is(recovering),
	}
	next.credit.Store(1<<32 - 1) // The first request passes.
	b.phase.CompareAndSwap(p, next)
}

// close ends a recovery, unless the condition has become true since the last check.
func (b *breaker) close(p *phase, now time.Duration) {
	if b.judge(p.window, now) {
		return
	}
	if !b.phase.CompareAndSwap(p, &phase{state: standby, from: now, window: p.window}) {
		return
	}
	b.definition.recovered.Add(1)
	b.definition.logger.Info("circuit breaker has recovered", "middleware", b.definition.name, "owner", b.owner,
		"after", (now - p.outage.began).String(), "trips", p.outage.trips, "refused", b.refused.Load()-p.outage.refused)
}

// check evaluates the condition if due.
func (b *breaker) check(window *window, now time.Duration) {
	if window.due(now, b.definition.period) {
		b.judge(window, now)
	}
}

// judge trips the breaker and returns true if the condition is true for the current window.
func (b *breaker) judge(window *window, now time.Duration) bool {
	expression := b.definition.expression
	figures := expression.figures(window, now)
	if !expression.holds(figures) {
		return false
	}
	for p := b.phase.Load(); p.window == window; p = b.phase.Load() {
		if b.trip(p, now) {
			b.report(p, expression.text(figures))
			return true
		}
	}
	return true
}

// trip ends standby or a recovery. It returns false if the phase has already ended.
func (b *breaker) trip(p *phase, now time.Duration) bool {
	next := &outage{began: now, trips: 1, refused: b.refused.Load()}
	if p.outage != nil {
		next = &outage{began: p.outage.began, trips: p.outage.trips + 1, refused: p.outage.refused}
	}
	return b.phase.CompareAndSwap(p, &phase{
		state: tripped, from: now, until: now + b.definition.fallback, outage: next, refusal: b.is(tripped),
	})
}

// report counts and logs a trip. Trips during a recovery belong to the same outage.
func (b *breaker) report(from *phase, figures string) {
	b.definition.tripped.Add(1)
	write, text := b.definition.logger.Warn, "circuit breaker has tripped"
	if from.state == recovering {
		write, text = b.definition.logger.Debug, "circuit breaker has tripped again"
	}
	write(text, "middleware", b.definition.name, "owner", b.owner, "figures", figures, "for",
		b.definition.fallback.String())
}
