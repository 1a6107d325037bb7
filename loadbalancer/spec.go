package loadbalancer

import (
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

// PoolSpec is what a service declares about its pool.
type PoolSpec struct {
	// Name is the service's qualified name.
	Name string
	// Servers are the pool's servers. Servers that differ only in their weight are one server with the sum.
	Servers []ServerSpec
	// Dialer is the transport.
	Dialer Dialer
	// Policies say how the pool chooses among its endpoints. The zero value is round robin by weight and nothing else.
	Policies
}

func (s *PoolSpec) equal(other *PoolSpec) bool {
	return s.Dialer == other.Dialer && s.Policies == other.Policies && slices.Equal(s.Servers, other.Servers)
}

// Policies say how a pool chooses among its endpoints. They are compared with ==.
type Policies struct {
	// Strategy chooses among those that may answer.
	Strategy picker.Strategy
	// Checked says that endpoints are asked about their health as Check says.
	Checked bool
	Check   health.Check
	// Outlier takes endpoints out whose answers to real requests fail.
	Outlier outlier.Policy
	// Sticks says that clients stay with their endpoint by the cookie.
	Sticks bool
	Cookie sticky.Cookie
	// RetryPercent is the share of the requests that may be tried again, in percent.
	RetryPercent int
	// Panic is the share of endpoints in good health, in percent, below which health does not count any more; 0 is never.
	Panic int
	// SlowStart is how long an endpoint that joins or recovers takes to get its whole share; 0 gives it at once.
	SlowStart time.Duration
	// Zone says what the zone of an endpoint counts.
	Zone ZonePolicy
	// DrainTime is how long connections to an endpoint that is gone may last; 0 lets them end by themselves.
	DrainTime time.Duration
	// Limits bound what the pool takes on.
	Limits Limits
}

// ZonePolicy says what the zone of an endpoint counts (loadBalancer.zoneAware).
type ZonePolicy uint8

// The zone policies.
const (
	// ZoneHints prefers endpoints whose hints name the zone of this instance, where all endpoints have hints. It is the
	// default.
	ZoneHints ZonePolicy = iota
	// ZoneLocal prefers, where hints do not decide, endpoints that run in the zone of this instance.
	ZoneLocal
	// ZoneNone takes all endpoints alike.
	ZoneNone
)

// Limits bound what a pool takes on (loadBalancer.limits). 0 is no limit.
type Limits struct {
	// PerEndpoint is how many requests of the pool an endpoint serves at a time; over HTTP/1.1 each takes a connection.
	PerEndpoint int
	// PerPool is how many requests the pool has under way at a time.
	PerPool int
	// Pending is how many requests wait when the limits are reached; with 0 none does.
	Pending int
	// PendingTime is how long a request waits at most.
	PendingTime time.Duration
}

func (l *Limits) set() bool { return l.PerEndpoint > 0 || l.PerPool > 0 }
