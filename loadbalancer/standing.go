package loadbalancer

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// remarks are why a member stands as it does, for whoever asks. The single writer makes them, and anybody reads them: they count as far
// as the state in a snapshot asks for them.
type remarks struct {
	check       atomic.Pointer[string]
	ejection    atomic.Pointer[ejection]
	terminating atomic.Bool
}

// ejection is the last time that a member was taken out, until an instant.
type ejection struct {
	reason string
	until  time.Duration
}

// terminates notes whether the endpoint is about to leave. It writes only what changes, since requests read what is beside it.
func (r *remarks) terminates(yes bool) {
	if r.terminating.Load() != yes {
		r.terminating.Store(yes)
	}
}

// StandingQuery selects endpoints by any one of their places in pools. An empty field selects all.
type StandingQuery struct {
	// Search is a part of the address, the source, the uid or the name of the pool, in whatever case.
	Search string
	// Status is the word for the State in the pool.
	Status string
	// Service is the name of the pool.
	Service string
}

// Standing is one endpoint and its places in pools, at the moment of the question.
type Standing struct {
	endpoint *Endpoint
	places   *[]place
	// last is the last of its places in that list.
	last int
}

// place is a member of a snapshot.
type place struct {
	pool     *Pool
	snapshot *Snapshot
	at       int
	// before is another place of the same endpoint; -1 for none.
	before int
}

func (p *place) member() *Member { return p.snapshot.members[p.at] }

// Standings returns the endpoints that a query selects, in order of address, source and uid. It may be called from any goroutine, and takes time
// by the number of all members of all pools.
func (r *Registry) Standings(query StandingQuery) []Standing {
	query.Search = strings.ToLower(query.Search)
	total := 0
	for pool := range r.Pools() {
		total += pool.Snapshot().Len()
	}
	places, known, selected := make([]place, 0, total), make(map[*Endpoint]int, total), map[*Endpoint]struct{}{}
	for pool := range r.Pools() {
		snapshot := pool.Snapshot()
		ours := query.Service == "" || query.Service == pool.name
		named := query.isIn(pool.name)
		for at, member := range snapshot.members {
			endpoint := member.upstream.endpoint
			before, seen := known[endpoint]
			if !seen {
				before = -1
			}
			known[endpoint] = len(places)
			places = append(places, place{pool, snapshot, at, before})
			if ours && query.selects(member, snapshot.states[at], named) {
				selected[endpoint] = struct{}{}
			}
		}
	}
	standings := make([]Standing, 0, len(selected))
	for endpoint := range selected {
		standings = append(standings, Standing{endpoint, &places, known[endpoint]})
	}
	slices.SortFunc(standings, func(a, b Standing) int { return a.endpoint.key.compare(&b.endpoint.key) })
	return standings
}

func (k *EndpointKey) compare(other *EndpointKey) int {
	if order := k.Address.Compare(other.Address); order != 0 {
		return order
	}
	return cmp.Or(cmp.Compare(k.Source, other.Source), cmp.Compare(k.UID, other.UID))
}

// selects tells whether the query selects an endpoint by a place, in a pool that it selects; named says that the search is in the name of the pool.
func (q *StandingQuery) selects(m *Member, state State, named bool) bool {
	if q.Status != "" && q.Status != state.String() {
		return false
	}
	key := &m.upstream.endpoint.key
	return named || q.isIn(m.upstream.address) || q.isIn(key.Source) || q.isIn(key.UID)
}

func (q *StandingQuery) isIn(text string) bool {
	return q.Search == "" || strings.Contains(strings.ToLower(text), q.Search)
}

// Endpoint returns whose standing it is.
func (s Standing) Endpoint() *Endpoint { return s.endpoint }

// Address returns the endpoint's address as text: host:port, IPv6 in brackets.
func (s Standing) Address() string { return (*s.places)[s.last].member().Address() }

// all yields the places.
func (s Standing) all() iter.Seq[*place] {
	return func(yield func(*place) bool) {
		for i := s.last; i >= 0; i = (*s.places)[i].before {
			if !yield(&(*s.places)[i]) {
				return
			}
		}
	}
}

// Place is how an endpoint stands in one pool.
type Place struct {
	// Service is the name of the pool.
	Service string
	// State is how it stands, and Reason why it is not serving; empty where it is.
	State  State
	Reason string
	// Back is how long an ejection lasts from now; 0 otherwise.
	Back time.Duration
	// Share is the part of the pool's new requests that it is due, from 0 to 1.
	Share float64
	// Latency is the mean time to the head of about the last 100 responses; 0 where the pool's strategy does not go by it, or nothing is known.
	Latency time.Duration
	// SlowStart is the part of its share that it gets by now, from 0.1 to 1.
	SlowStart float64
	// Sticky is the value of the cookie that names it; empty where clients do not stick.
	Sticky string
}

// Places returns how the endpoint stands in each of its pools at a moment, in order of their names. A pool of which several servers lead to the
// endpoint has several.
func (s Standing) Places(now time.Time) []Place {
	var places []Place
	for place := range s.all() {
		places = append(places, place.look(now))
	}
	slices.Reverse(places)
	slices.SortStableFunc(places, func(a, b Place) int { return cmp.Compare(a.Service, b.Service) })
	return places
}

func (p *place) look(now time.Time) Place {
	member, instant := p.member(), p.pool.Instant(now)
	seen := Place{
		Service:   p.pool.name,
		State:     p.snapshot.states[p.at],
		Share:     p.share(),
		SlowStart: p.snapshot.warmth(member, instant),
		Sticky:    p.snapshot.cookies.of(member),
	}
	if latency := member.latency.Load(); latency != nil && p.snapshot.timed {
		seen.Latency = latency.Mean()
	}
	seen.Reason, seen.Back = member.remarks.of(seen.State, instant)
	if seen.Reason != "" && seen.Share > 0 {
		seen.Reason += "; it gets requests all the same, since too few others can"
	}
	return seen
}

// share returns the part of the whole.
func (p *place) share() float64 {
	own, whole := p.snapshot.shares[p.at], uint64(0)
	if own == 0 {
		return 0
	}
	for _, share := range p.snapshot.shares {
		whole += share
	}
	return float64(own) / float64(whole)
}

// warmth returns the part of its share that a member gets in its slow start.
func (s *Snapshot) warmth(m *Member, now time.Duration) float64 {
	if !s.warming || s.slowStart <= 0 {
		return 1
	}
	elapsed := now - time.Duration(m.since.Load())
	return min(max(coldest, float64(elapsed)/float64(s.slowStart)), 1)
}

// of returns the value that is given out for a member today.
func (c cookies) of(member *Member) string {
	for value, known := range c {
		if known.current && known.member == member {
			return value
		}
	}
	return ""
}

// of says in words why a member is in a state, and for how long it is out.
func (r *remarks) of(state State, now time.Duration) (reason string, back time.Duration) {
	switch state {
	case Serving:
	case Draining:
		if reason = "its weight is 0"; r.terminating.Load() {
			reason = "it is terminating"
		}
	case Unhealthy:
		reason = "its check failed"
		if last := r.check.Load(); last != nil { // The writer may take it back between two looks.
			reason += ": " + *last
		}
	case Ejected:
		reason = "its answers failed"
		if last := r.ejection.Load(); last != nil {
			reason, back = reason+": "+last.reason, max(last.until-now, 0)
		}
	}
	return reason, back
}

// UpstreamStanding is one way in which an endpoint is spoken to.
type UpstreamStanding struct {
	// Scheme is http, https or h2c, and Host the authority that TLS asks for.
	Scheme, Host string
	// Idle counts the connections that are kept and that no request uses.
	Idle int
}

// Upstreams returns in which ways the endpoint is spoken to, in order of scheme and host. Transports that differ make several of one kind.
func (s Standing) Upstreams() []UpstreamStanding {
	var seen []*Upstream
	var standings []UpstreamStanding
	for place := range s.all() {
		upstream := place.member().upstream
		if slices.Contains(seen, upstream) {
			continue
		}
		seen = append(seen, upstream)
		standings = append(standings, UpstreamStanding{Scheme: upstream.key.Scheme, Host: upstream.key.Host, Idle: upstream.idle()})
	}
	slices.SortFunc(standings, func(a, b UpstreamStanding) int {
		return cmp.Or(cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.Host, b.Host), cmp.Compare(b.Idle, a.Idle))
	})
	return standings
}

// idle counts the connections that no request uses. Those that requests share are idle when there are no requests at all.
func (u *Upstream) idle() int {
	counts, ok := u.trips.(interface{ IdleConnections() (idle, shared int) })
	if !ok {
		return 0
	}
	idle, shared := counts.IdleConnections()
	if u.inFlight.Load() == 0 {
		idle += shared
	}
	return idle
}
