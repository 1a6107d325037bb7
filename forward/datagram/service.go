package datagram

import (
	"net/netip"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
)

// Service chooses the endpoints of sessions. It is called for the first datagram of each, by any number of goroutines,
// and must not block.
type Service interface {
	// Open returns the endpoint of a new session, or an error where there is none.
	Open(opening *Opening) (Target, error)
}

// Opening is what the endpoint of a session may depend on.
type Opening struct {
	// Client is the address of the client, IPv4 addresses unmapped.
	Client netip.Addr
	// Tried are the endpoints that have refused the client's datagram. They must not be chosen.
	Tried []*loadbalancer.Member
}

// Target is the endpoint of a session. It is to be ended exactly once.
type Target struct {
	// Member is the endpoint in Pool, which has counted the session in.
	Pool   *loadbalancer.Pool
	Member *loadbalancer.Member
	// Counted is that of the request that has acquired the member.
	Counted bool
	// Responses is how many datagrams the endpoint is expected to send for each of the client; 0 is any number.
	Responses int
}

// end counts the session out, with its outcome and how long it has lasted.
func (t *Target) end(outcome loadbalancer.Outcome, lasted time.Duration) {
	if t.Member == nil {
		return // The endpoint left before this process had the session.
	}
	now := t.Pool.Instant(time.Now())
	t.Member.Done(loadbalancer.Result{Outcome: outcome, Began: now - lasted, Now: now, Counted: t.Counted})
}

// Pool is a service whose endpoints are those of a load balancer's pool.
type Pool struct {
	pool      *loadbalancer.Pool
	responses int
}

// NewPool returns the service of a pool whose transport is a [Dialer] and whose servers have the scheme udp. responses
// (loadBalancer.responses) is [Target.Responses]; 0 or less is any number.
func NewPool(pool *loadbalancer.Pool, responses int) *Pool {
	return &Pool{pool: pool, responses: max(responses, 0)}
}

// Open picks an endpoint by the strategy of the pool. The error is a [loadbalancer.Refusal].
func (p *Pool) Open(opening *Opening) (Target, error) {
	request := loadbalancer.Request{Tried: opening.Tried}
	request.Client, request.Now = opening.Client.String(), p.pool.Instant(time.Now())
	member, err := p.pool.Acquire(&request)
	if err != nil {
		return Target{}, err
	}
	return Target{Pool: p.pool, Member: member, Counted: request.Counted, Responses: p.responses}, nil
}
