package loadbalancer

import (
	"net/netip"
	"time"
)

// inheritance is how long failed checks of another process count for checks that begin.
const inheritance = 5 * time.Minute

// FailedCheck is an endpoint of a pool whose active check has failed.
type FailedCheck struct {
	// Pool is the name of the pool.
	Pool string `json:"service"`
	// Address and UID are those of the [EndpointKey].
	Address netip.AddrPort `json:"address"`
	UID     string         `json:"uid,omitempty"`
	// Reason is the last result in one clause; it may be empty.
	Reason string `json:"reason,omitempty"`
}

// failedKey is what identifies a FailedCheck.
type failedKey struct {
	pool    string
	address netip.AddrPort
	uid     string
}

// FailedChecks returns the endpoints whose checks have failed, in no order. It may be called from any goroutine.
func (r *Registry) FailedChecks() []FailedCheck {
	var failed []FailedCheck
	for pool := range r.Pools() {
		for _, one := range pool.snapshot.Load().candidates {
			if one.state != Unhealthy {
				continue
			}
			key := one.member.Endpoint().key
			check := FailedCheck{Pool: pool.name, Address: key.Address, UID: key.UID}
			if reason := one.member.statusReasons.check.Load(); reason != nil {
				check.Reason = *reason
			}
			failed = append(failed, check)
		}
	}
	return failed
}

// Inherit has the checks of these endpoints begin as failed, where they begin within five minutes: until their first
// result, the endpoints get no requests. Failed checks are those of another process.
func (r *Registry) Inherit(failed []FailedCheck) {
	r.inherited, r.inheritedUntil = make(map[failedKey]string, len(failed)), time.Since(r.epoch)+inheritance
	for _, one := range failed {
		r.inherited[failedKey{one.Pool, one.Address, one.UID}] = one.Reason
	}
}

// inherit has a new check of a member begin as in another process.
func (r *Registry) inherit(m *Member, probe *probe) {
	if r.inherited == nil {
		return
	}
	if time.Since(r.epoch) >= r.inheritedUntil {
		r.inherited = nil
		return
	}
	key := failedKey{m.pool.name, m.upstream.endpoint.key.Address, m.upstream.endpoint.key.UID}
	reason, failed := r.inherited[key]
	if !failed {
		return
	}
	delete(r.inherited, key)
	if probe.down = true; reason != "" {
		probe.reason = &reason
	}
}
