package loadbalancer

import (
	"math"
	"time"
)

// Event is a change of an endpoint's standing in a pool, for the log.
type Event struct {
	// Service is the name of the pool, Endpoint the address.
	Service, Endpoint string
	// State is how the endpoint stands now.
	State State
	// Reason says why, empty for a recovery.
	Reason string
	// For is how long an ejection lasts.
	For time.Duration
}

// judge takes what happened since the last time and what is due, and notes the pools that it changes.
func (r *Registry) judge(now time.Duration) {
	r.round++
	suspects, verdicts, zone := r.events.take()
	if zone != nil && *zone != r.zone {
		r.zone = *zone
		for _, pool := range r.pools {
			r.stale[pool] = struct{}{}
		}
	}
	for _, said := range verdicts {
		if r.probes[said.probe.key] == said.probe { // Otherwise it has ended meanwhile.
			r.checked(said, now)
		}
	}
	for _, one := range suspects {
		r.eject(one, now)
	}
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
			r.stale[pool] = struct{}{}
		}
	}
	for upstream, at := range r.leaving {
		if upstream.inFlight.Load() == 0 {
			delete(r.leaving, upstream)
		} else if at.end <= now {
			delete(r.leaving, upstream)
			at.pool.counters.Cut.Add(1)
			upstream.trips.Close()
		}
	}
}

// due returns when judge has something to do without having been told, 0 when never.
func (r *Registry) due() time.Duration {
	var next time.Duration
	sooner := func(at time.Duration) {
		if next == 0 || at < next {
			next = at
		}
	}
	for member := range r.ejected {
		sooner(member.until)
	}
	for _, at := range r.warming {
		sooner(at)
	}
	for _, at := range r.leaving {
		sooner(at.end)
	}
	return next
}

func (r *Registry) checked(said verdict, now time.Duration) {
	probe := said.probe
	if probe.down == !said.Up {
		return
	}
	probe.down = !said.Up
	probe.reason = &said.Reason
	r.round++
	for member := range probe.members {
		member.down = probe.down
		r.stale[member.pool] = struct{}{}
		if said.Up {
			member.pool.counters.ChecksPassed.Add(1)
			r.back(member, now)
			continue
		}
		member.pool.counters.ChecksFailed.Add(1)
		member.remarks.check.Store(probe.reason)
		r.report(Event{Service: member.pool.name, Endpoint: member.Address(), State: Unhealthy, Reason: said.Reason})
	}
}

// back begins a member's slow start, when nothing keeps it from serving any more.
func (r *Registry) back(member *Member, now time.Duration) {
	if member.down || member.ejected {
		return
	}
	member.since.Store(int64(now))
	r.report(Event{Service: member.pool.name, Endpoint: member.Address(), State: Serving})
}

// eject takes a member out whose answers failed, unless too many are out already. It reports false for one that is spared, and
// remembers it, since nobody tells of it again.
func (r *Registry) eject(one suspect, now time.Duration) bool {
	member, pool := one.member, one.member.pool
	if member.gone || member.ejected || !member.outlier.Suspect() {
		delete(pool.spared, member)
		return true
	}
	_, before := pool.spared[member]
	pool.spared[member] = one.result
	if !pool.spec.Outlier.Enabled() {
		return false
	}
	total, out, failing := r.tally(pool).without(member)
	member.unreachable = one.result.Outcome == Unreachable
	if !pool.spec.Outlier.Allows(out, pool.tallied.unreachable, total, !member.unreachable) {
		if !before {
			pool.counters.Spared.Add(1)
		}
		return false
	}
	delete(pool.spared, member)
	pool.tallied.move(member, 1)
	member.ejected = true
	member.until = member.outlier.Eject(&pool.spec.Outlier, now, failing+out+1 >= total)
	r.ejected[member] = struct{}{}
	member.remarks.ejection.Store(&ejection{reason: one.result.text(), until: member.until})
	pool.counters.Ejections.Add(1)
	r.stale[pool] = struct{}{}
	r.report(Event{
		Service: pool.name, Endpoint: member.Address(), State: Ejected, Reason: one.result.text(), For: member.until - now,
	})
	return true
}

// reconsider ejects members that were spared, as far as there is room by now.
func (r *Registry) reconsider(pool *Pool, now time.Duration) (ejects bool) {
	full := false // The share that may be out is, which says nothing about members that can't be reached.
	for member, result := range pool.spared {
		reached := result.Outcome != Unreachable
		switch {
		case reached && full:
		case r.eject(suspect{member, result}, now):
			ejects = ejects || member.ejected
		case reached:
			full = true
		default:
			return ejects
		}
	}
	return ejects
}

// readmit lets an ejected member serve again.
func (r *Registry) readmit(member *Member, now time.Duration) {
	delete(r.ejected, member)
	member.pool.tallied.move(member, -1)
	member.ejected = false
	member.outlier.Return(now)
	member.pool.counters.Returns.Add(1)
	r.stale[member.pool] = struct{}{}
	r.back(member, now)
}

// later returns the instant after some time, or the last one there is.
func later(now, after time.Duration) time.Duration {
	if then := now + after; then >= now {
		return then
	}
	return math.MaxInt64
}
