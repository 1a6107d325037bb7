package loadbalancer

import (
	"math"
	"time"
)

// Event is a change of an endpoint's state in a pool, for the log.
type Event struct {
	// Service is the name of the pool, Endpoint the address.
	Service, Endpoint string
	// State is the new state of the endpoint.
	State State
	// Reason is empty for a recovery.
	Reason string
	// For is how long an ejection lasts.
	For time.Duration
}

// takeEvents processes queued events and expired deadlines, and marks the pools that they change as stale.
func (r *Registry) takeEvents(now time.Duration) {
	r.round++
	ejectionCandidates, results, zone := r.events.take()
	if zone != nil && *zone != r.zone {
		r.zone = *zone
		for pool := range r.Pools() {
			r.mark(pool)
		}
	}
	if r.events.takeHeld() {
		r.applyHolds()
	}
	for _, result := range results {
		if r.probes[result.probe.key] == result.probe { // Otherwise the probe has been stopped meanwhile.
			r.applyCheck(result, now)
		}
	}
	for _, one := range ejectionCandidates {
		r.eject(one, now)
	}
	if r.deadline != 0 && r.deadline <= now {
		r.expire(now)
	}
}

// expire ends what has lasted until now, and finds the next deadline.
func (r *Registry) expire(now time.Duration) {
	var room map[*Pool]struct{}
	for member := range r.ejected {
		if member.until <= now {
			r.readmit(member, now)
			if room == nil {
				room = map[*Pool]struct{}{}
			}
			room[member.pool] = struct{}{}
		}
	}
	for pool := range room {
		r.reconsider(pool, now)
	}
	for pool, at := range r.warming {
		if at <= now {
			delete(r.warming, pool)
			r.mark(pool)
		}
	}
	for upstream, at := range r.leaving {
		if upstream.inFlight.Load() == 0 {
			delete(r.leaving, upstream)
		} else if at.end <= now {
			delete(r.leaving, upstream)
			at.pool.counters.Cut.Add(1)
			upstream.connections.Close()
		}
	}
	r.expireDrains(now)
	r.deadline = 0
	for member := range r.ejected {
		r.expireAt(member.until)
	}
	for _, at := range r.warming {
		r.expireAt(at)
	}
	for _, at := range r.leaving {
		r.expireAt(min(at.end, now+leavingInterval))
	}
	r.expireWithDrains(r.held.current.Load())
}

// leavingInterval is how often upstreams that leave are looked at: one without requests is not kept until its end.
const leavingInterval = time.Minute

// expireAt has takeEvents call expire at an instant, or before it.
func (r *Registry) expireAt(at time.Duration) {
	if r.deadline == 0 || at < r.deadline {
		r.deadline = at
	}
}

func (r *Registry) applyCheck(result checkResult, now time.Duration) {
	probe := result.probe
	if probe.down == !result.Up {
		return
	}
	probe.down = !result.Up
	probe.reason = &result.Reason
	r.round++
	for member := range probe.members {
		member.down = probe.down
		r.mark(member.pool)
		if result.Up {
			member.pool.counters.ChecksPassed.Add(1)
			r.back(member, now)
			continue
		}
		member.pool.counters.ChecksFailed.Add(1)
		member.statusReasons.check.Store(probe.reason)
		r.report(Event{Service: member.pool.name, Endpoint: member.Address(), State: Unhealthy, Reason: result.Reason})
	}
}

// back begins a member's slow start when it can serve again.
func (r *Registry) back(member *Member, now time.Duration) {
	if member.down || member.ejected {
		return
	}
	member.since.Store(int64(now))
	r.report(Event{Service: member.pool.name, Endpoint: member.Address(), State: Serving})
}

// eject ejects a member, unless too many are ejected already. It returns false when the limit prevents the
// ejection, and keeps the member in overLimit, because its failures are reported only once.
func (r *Registry) eject(one ejectionCandidate, now time.Duration) bool {
	member, pool := one.member, one.member.pool
	if member.gone || member.ejected || !member.outlier.Suspect() {
		delete(pool.overLimit, member)
		return true
	}
	_, before := pool.overLimit[member]
	if pool.overLimit == nil {
		pool.overLimit = map[*Member]Result{}
	}
	pool.overLimit[member] = one.result
	if !pool.policies.Outlier.Enabled() {
		return false
	}
	total, out, failing := r.memberCounts(pool).without(member)
	member.unreachable = one.result.Outcome == Unreachable
	if !pool.policies.Outlier.Allows(out, pool.counts.unreachable, total, !member.unreachable) {
		if !before {
			pool.counters.EjectionsOverflow.Add(1)
		}
		return false
	}
	delete(pool.overLimit, member)
	pool.counts.move(member, 1)
	member.ejected = true
	member.until = member.outlier.Eject(&pool.policies.Outlier, now, failing+out+1 >= total)
	r.ejected[member] = struct{}{}
	r.expireAt(member.until)
	member.statusReasons.ejection.Store(&ejection{reason: one.result.text(), until: member.until})
	pool.counters.Ejections.Add(1)
	r.mark(pool)
	r.report(Event{
		Service: pool.name, Endpoint: member.Address(), State: Ejected, Reason: one.result.text(), For: member.until - now,
	})
	return true
}

// reconsider ejects members from overLimit as far as the limit allows now.
func (r *Registry) reconsider(pool *Pool, now time.Duration) (ejects bool) {
	full := false // The limit of ejected members; members that cannot be connected to are exempt.
	for member, result := range pool.overLimit {
		reached := result.Outcome != Unreachable
		switch {
		case reached && full:
		case r.eject(ejectionCandidate{member, result}, now):
			ejects = ejects || member.ejected
		case reached:
			full = true
		default:
			return ejects
		}
	}
	return ejects
}

// readmit ends the ejection of a member.
func (r *Registry) readmit(member *Member, now time.Duration) {
	delete(r.ejected, member)
	member.pool.counts.move(member, -1)
	member.ejected = false
	member.outlier.Return(now)
	member.pool.counters.Returns.Add(1)
	r.mark(member.pool)
	r.back(member, now)
}

// later returns now + after without overflow.
func later(now, after time.Duration) time.Duration {
	if then := now + after; then >= now {
		return then
	}
	return math.MaxInt64
}
