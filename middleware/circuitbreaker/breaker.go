package circuitbreaker

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// The states of a breaker, by the names that metrics and the API give them.
const (
	standby    = "standby"
	tripped    = "tripped"
	recovering = "recovering"
)

// phase is the time from one change of state to the next. But for its credit it does not change.
type phase struct {
	state string
	// from and until are when it begins and ends; standby has no end. Times are counted from the breaker's origin.
	from, until time.Duration
	// window is where requests count that arrive in this phase, however long they take. It is made when a recovery begins,
	// and is that of the standby after it: what was asked before a trip says nothing about how the service does after it.
	// There is none while tripped.
	window *window
	// refusal is why requests are refused.
	refusal string
	// outage is what goes on; nil in standby.
	outage *outage
	// credit is the sum of the shares of requests that a recovery lets through, in parts of 1<<32: another request passes
	// whenever it reaches another whole one.
	credit atomic.Uint64
}

// outage is the time from the first trip until a recovery succeeds.
type outage struct {
	began time.Duration
	trips int
	// refused is what the breaker's count of refused requests was when it began.
	refused uint64
}

// breaker is the circuit breaker of one owner, or of all.
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

// NoRetain says that no part of a request outlives its handler here.
func (*breaker) NoRetain() {}

// now returns the time since the breaker was made, which no change of the system's clock touches.
func (b *breaker) now() time.Duration { return time.Since(b.origin) }

// Standing returns the state that a request would meet: "standby", "tripped" or "recovering". There are no levels.
func (b *breaker) Standing() (state string, levels map[string]int64) {
	p := b.phase.Load()
	switch {
	case p.state == standby || b.now() < p.until:
		return p.state, nil
	case p.state == tripped:
		return recovering, nil
	}
	return standby, nil
}

// Wrap returns a handler that calls next as long as the breaker lets requests pass, and otherwise answers in its place.
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

// admit returns the window in which a request counts that may pass, or nil and why it may not.
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

// admits reports whether a request may pass: the first, to find out, and of those that come later a share that grows
// evenly from none at the beginning to all at the end. Shares add up, so that the requests that pass are spread among
// the others however many there are.
func (p *phase) admits(now time.Duration) bool {
	const whole = 1 << 32
	share := uint64(whole * float64(now-p.from) / float64(p.until-p.from))
	share = max(share, 1)
	sum := p.credit.Add(share)
	return sum/whole != (sum-share)/whole
}

// refuse answers in the service's place.
func (b *breaker) refuse(w http.ResponseWriter, r *http.Request, reason string) {
	b.refused.Add(1)
	b.definition.refused.Add(1)
	telemetry.RecordFrom(r.Context()).Code = telemetry.CodeTripped
	answer.Refuse(w, r, b.definition.status, b.definition.name, reason)
}

// is says for the record of a request which state the breaker is in.
func (b *breaker) is(state string) string {
	return "the circuit breaker of " + b.owner + " is " + state
}

// recover ends the phase tripped.
func (b *breaker) recover(p *phase, now time.Duration) {
	next := &phase{
		state: recovering, from: now, until: now + b.definition.recovery, window: newWindow(b.definition.expression),
		outage:  p.outage,
		refusal: b.is(recovering),
	}
	next.credit.Store(1<<32 - 1) // The first request passes.
	b.phase.CompareAndSwap(p, next)
}

// close ends a recovery, unless the condition has come true since it was last checked.
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

// check judges a window when it is time to.
func (b *breaker) check(window *window, now time.Duration) {
	if window.due(now, b.definition.period) {
		b.judge(window, now)
	}
}

// judge trips the breaker, and reports true, if the condition is true for a window that still counts.
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

// trip ends standby or a recovery. It reports false when somebody else has ended it.
func (b *breaker) trip(p *phase, now time.Duration) bool {
	next := &outage{began: now, trips: 1, refused: b.refused.Load()}
	if p.outage != nil {
		next = &outage{began: p.outage.began, trips: p.outage.trips + 1, refused: p.outage.refused}
	}
	return b.phase.CompareAndSwap(p, &phase{
		state: tripped, from: now, until: now + b.definition.fallback, outage: next, refusal: b.is(tripped),
	})
}

// report counts and logs a trip. Those that end a recovery belong to an outage that the log knows.
func (b *breaker) report(from *phase, figures string) {
	b.definition.tripped.Add(1)
	write, text := b.definition.logger.Warn, "circuit breaker has tripped"
	if from.state == recovering {
		write, text = b.definition.logger.Debug, "circuit breaker has tripped again"
	}
	write(text, "middleware", b.definition.name, "owner", b.owner, "figures", figures, "for",
		b.definition.fallback.String())
}
