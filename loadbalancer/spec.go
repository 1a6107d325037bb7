package loadbalancer

import (
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

// PoolSpec is the specification of a pool: what its service declares.
type PoolSpec struct {
	// Name is the service's qualified name.
	Name string
	// Servers are the pool's servers. Servers that differ only in their weight are one server with the sum.
	Servers []ServerSpec
	// Dialer is the transport.
	Dialer Dialer
	// Policies configure the choice of endpoints. The zero value is weighted round robin without checks.
	Policies
}

// Policies configure how a pool chooses among its endpoints. They are compared with ==, and pools share equal ones.
type Policies struct {
	// Strategy chooses among the members that can serve.
	Strategy picker.Strategy
	// Checked enables the active check Check.
	Checked bool
	Check   health.Check
	// Outlier ejects endpoints whose responses to real requests fail.
	Outlier outlier.Policy
	// Sticks enables sticky sessions with Cookie.
	Sticks bool
	Cookie sticky.Cookie
	// RetryPercent is the retry budget in percent of the requests.
	RetryPercent int
	// Panic is the panic threshold: the share of healthy endpoints, in percent, below which health is ignored;
	// 0 disables it.
	Panic int
	// SlowStart is the time in which an endpoint that joins or recovers reaches its full share; 0 is at once.
	SlowStart time.Duration
	// Zone configures zone-aware routing.
	Zone ZonePolicy
	// DrainTime bounds the connections to a removed endpoint; 0 lets them end by themselves.
	DrainTime time.Duration
	// Limits bound the requests in flight.
	Limits Limits
}

// ZonePolicy is the use of endpoints' zones (loadBalancer.zoneAware).
type ZonePolicy uint8

// The zone policies.
const (
	// ZoneHints prefers endpoints whose hints name the zone of this instance, where all endpoints have hints. It is the
	// default.
	ZoneHints ZonePolicy = iota
	// ZoneLocal prefers, where hints do not decide, endpoints that run in the zone of this instance.
	ZoneLocal
	// ZoneNone ignores zones.
	ZoneNone
)

// Limits bound the requests in flight of a pool (loadBalancer.limits). 0 is no limit.
type Limits struct {
	// PerEndpoint is the maximum of the pool's requests in flight to one endpoint; over HTTP/1.1 each uses a
	// connection.
	PerEndpoint int
	// PerPool is the maximum of requests in flight of the pool.
	PerPool int
	// Pending is the maximum of requests that wait when a limit is reached; 0 disables waiting.
	Pending int
	// PendingTime is the longest wait of a request.
	PendingTime time.Duration
}

func (l *Limits) set() bool { return l.PerEndpoint > 0 || l.PerPool > 0 }

// sharedPolicies are the policies of a number of pools.
type sharedPolicies struct {
	Policies

	pools int
}

// share returns the policies for one more pool.
func (r *Registry) share(policies *Policies) *sharedPolicies {
	shared, known := r.policies[*policies]
	if !known {
		shared = &sharedPolicies{Policies: *policies}
		r.policies[*policies] = shared
	}
	shared.pools++
	return shared
}

// unshare drops the policies of a pool that does not use them any more.
func (r *Registry) unshare(shared *sharedPolicies) {
	if shared == nil {
		return
	}
	if shared.pools--; shared.pools == 0 {
		delete(r.policies, shared.Policies)
	}
}
