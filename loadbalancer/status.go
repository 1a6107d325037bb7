package loadbalancer

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// statusReasons hold why a member is in its state. The single writer sets them; any goroutine reads them. Each
// field is meaningful only while the snapshot has the member in the matching state.
type statusReasons struct {
	check       atomic.Pointer[string]
	ejection    atomic.Pointer[ejection]
	terminating atomic.Bool
	// held is set when the member is drained by hand.
	held atomic.Bool
}

// ejection is the last ejection of a member, and the instant at which it ends.
type ejection struct {
	reason string
	until  time.Duration
}

// setTerminating records whether the endpoint is terminating. It writes only on a change, because requests read
// the same cache line.
func (r *statusReasons) setTerminating(yes bool) {
	if r.terminating.Load() != yes {
		r.terminating.Store(yes)
	}
}

// setHeld records whether the member is drained by hand, and reports whether that is a change.
func (r *statusReasons) setHeld(yes bool) (changed bool) {
	if changed = r.held.Load() != yes; changed {
		r.held.Store(yes)
	}
	return changed
}

// EndpointQuery selects endpoints by their membership in pools. An empty field matches all.
type EndpointQuery struct {
	// Search is a substring of the address, the source, the UID or the name of the pool, case-insensitive.
	Search string
	// Status is the State in the pool, as State.String gives it.
	Status string
	// Service is the name of the pool.
	Service string
}

// EndpointStatus is one endpoint with its memberships in pools, taken at one moment.
type EndpointStatus struct {
	endpoint    *Endpoint
	memberships *[]membership
	// last is the last of its memberships in that list.
	last int
}

// membership is a member of a pool's snapshot.
type membership struct {
	pool     *Pool
	snapshot *Snapshot
	at       int
	// before is the index of another membership of the same endpoint; -1 for none.
	before int
}

func (p *membership) member() *Member { return p.snapshot.candidates[p.at].member }

// EndpointStatuses returns the endpoints that a query selects, ordered by address, source and UID. Any
// goroutine may call it. Its cost is proportional to the number of members of all pools.
func (r *Registry) EndpointStatuses(query EndpointQuery) []EndpointStatus {
	query.Search = strings.ToLower(query.Search)
	total := 0
	for pool := range r.Pools() {
		total += pool.Snapshot().Len()
	}
	memberships, known, selected := make([]membership, 0, total), make(map[*Endpoint]int, total), map[*Endpoint]struct{}{}
	for pool := range r.Pools() {
		snapshot := pool.Snapshot()
		ours := query.Service == "" || query.Service == pool.name
		named := query.isIn(pool.name)
		for at := range snapshot.candidates {
			candidate := &snapshot.candidates[at]
			endpoint := candidate.member.upstream.endpoint
			before, seen := known[endpoint]
			if !seen {
				before = -1
			}
			known[endpoint] = len(memberships)
			memberships = append(memberships, membership{pool, snapshot, at, before})
			if ours && query.selects(candidate.member, candidate.state, named) {
				selected[endpoint] = struct{}{}
			}
		}
	}
	statuses := make([]EndpointStatus, 0, len(selected))
	for endpoint := range selected {
		statuses = append(statuses, EndpointStatus{endpoint, &memberships, known[endpoint]})
	}
	slices.SortFunc(statuses, func(a, b EndpointStatus) int { return a.endpoint.key.compare(&b.endpoint.key) })
	return statuses
}

func (k *EndpointKey) compare(other *EndpointKey) int {
	if order := k.Address.Compare(other.Address); order != 0 {
		return order
	}
	return cmp.Or(cmp.Compare(k.Source, other.Source), cmp.Compare(k.UID, other.UID))
}

// selects reports whether the query selects an endpoint by one membership. named is true when the name of the
// pool contains the search.
func (q *EndpointQuery) selects(m *Member, state State, named bool) bool {
	if q.Status != "" && q.Status != state.String() {
		return false
	}
	key := &m.upstream.endpoint.key
	return named || q.isIn(m.Address()) || q.isIn(key.Source) || q.isIn(key.UID)
}

func (q *EndpointQuery) isIn(text string) bool {
	return q.Search == "" || strings.Contains(strings.ToLower(text), q.Search)
}

// Endpoint returns the endpoint.
func (s EndpointStatus) Endpoint() *Endpoint { return s.endpoint }

// Address returns the endpoint's address as text: host:port, IPv6 in brackets.
func (s EndpointStatus) Address() string { return (*s.memberships)[s.last].member().Address() }

// all yields the memberships, the last one first.
func (s EndpointStatus) all() iter.Seq[*membership] {
	return func(yield func(*membership) bool) {
		for i := s.last; i >= 0; i = (*s.memberships)[i].before {
			if !yield(&(*s.memberships)[i]) {
				return
			}
		}
	}
}

// MemberStatus is the status of an endpoint in one pool.
type MemberStatus struct {
	// Service is the name of the pool.
	Service string
	// State is the state of the member, and Reason why it is not Serving; empty when it is.
	State  State
	Reason string
	// Back is the remaining time of an ejection; 0 otherwise.
	Back time.Duration
	// Share is the fraction of the pool's new requests that the member should receive, from 0 to 1.
	Share float64
	// Latency is the mean time to the response head over about the last 100 responses; 0 when the pool's
	// strategy does not measure it, or there is no sample.
	Latency time.Duration
	// SlowStart is the fraction of its share that the member receives in its slow start, from 0.1 to 1.
	SlowStart float64
	// Sticky is the value of the sticky cookie that selects the member; empty without sticky sessions.
	Sticky string
	// Traffic is what the member has counted.
	Traffic Traffic
}

// Memberships returns the status of the endpoint in each of its pools at a given time, ordered by the names of
// the pools. A pool with several servers that resolve to the endpoint has several.
func (s EndpointStatus) Memberships(now time.Time) []MemberStatus {
	var memberships []MemberStatus
	for membership := range s.all() {
		memberships = append(memberships, membership.look(now))
	}
	slices.Reverse(memberships)
	slices.SortStableFunc(memberships, func(a, b MemberStatus) int { return cmp.Compare(a.Service, b.Service) })
	return memberships
}

func (p *membership) look(now time.Time) MemberStatus {
	member, instant := p.member(), p.pool.Instant(now)
	seen := MemberStatus{
		Service:   p.pool.name,
		State:     p.snapshot.candidates[p.at].state,
		Share:     p.share(),
		SlowStart: p.snapshot.slowStartFactor(member, instant),
		Sticky:    p.snapshot.cookies.of(member),
		Traffic:   member.Traffic(),
	}
	if latency := member.latency.Load(); latency != nil && p.snapshot.timed {
		seen.Latency = latency.Mean()
	}
	seen.Reason, seen.Back = member.statusReasons.of(seen.State, instant)
	if p.snapshot.withheld && seen.State == Draining && member.statusReasons.held.Load() {
		seen.Reason += "; no endpoint of the service gets requests"
	}
	if seen.Reason != "" && seen.Share > 0 {
		seen.Reason += "; it gets requests all the same, since too few others can"
	}
	return seen
}

// share returns the member's fraction of the sum of all shares.
func (p *membership) share() float64 {
	own, whole := p.snapshot.candidates[p.at].share, uint64(0)
	if own == 0 {
		return 0
	}
	for i := range p.snapshot.serving {
		whole += p.snapshot.candidates[i].share
	}
	return float64(own) / float64(whole)
}

// slowStartFactor returns the fraction of its share that a member receives in its slow start.
func (s *Snapshot) slowStartFactor(m *Member, now time.Duration) float64 {
	if !s.warming || s.policies.SlowStart <= 0 {
		return 1
	}
	elapsed := now - time.Duration(m.since.Load())
	return min(max(coldest, float64(elapsed)/float64(s.policies.SlowStart)), 1)
}

// of returns the current cookie value for a member.
func (c cookies) of(member *Member) string {
	for value, known := range c {
		if known.current && known.member == member {
			return value
		}
	}
	return ""
}

// of returns in words why a member is in a state, and the remaining time of an ejection.
func (r *statusReasons) of(state State, now time.Duration) (reason string, back time.Duration) {
	switch state {
	case Serving:
	case Draining:
		switch {
		case r.held.Load():
			reason = "it is drained by hand"
		case r.terminating.Load():
			reason = "it is terminating"
		default:
			reason = "its weight is 0"
		}
	case Unhealthy:
		reason = "its check failed"
		if last := r.check.Load(); last != nil { // The writer may clear it between two loads.
			reason += ": " + *last
		}
	case Ejected:
		reason = "requests to it failed"
		if last := r.ejection.Load(); last != nil {
			reason, back = reason+": "+last.reason, max(last.until-now, 0)
		}
	}
	return reason, back
}

// UpstreamStatus is one way in which an endpoint is reached.
type UpstreamStatus struct {
	// Scheme is http, https or h2c, and Host the authority whose name TLS verifies.
	Scheme, Host string
	// Idle is the number of open connections that no request uses.
	Idle int
}

// Upstreams returns the ways in which the endpoint is reached, ordered by scheme and host. Different transports
// make several with the same scheme and host.
func (s EndpointStatus) Upstreams() []UpstreamStatus {
	var seen []*Upstream
	var statuses []UpstreamStatus
	for membership := range s.all() {
		upstream := membership.member().upstream
		if slices.Contains(seen, upstream) {
			continue
		}
		seen = append(seen, upstream)
		statuses = append(statuses, UpstreamStatus{
			Scheme: upstream.scheme, Host: upstream.host, Idle: upstream.idle(),
		})
	}
	slices.SortFunc(statuses, func(a, b UpstreamStatus) int {
		return cmp.Or(cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.Host, b.Host), cmp.Compare(b.Idle, a.Idle))
	})
	return statuses
}

// idle counts the connections that no request uses. Multiplexed connections count as idle when no request is in
// flight.
func (u *Upstream) idle() int {
	idle, shared := u.connections.IdleConnections()
	if u.inFlight.Load() == 0 {
		idle += shared
	}
	return idle
}
