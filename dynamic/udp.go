package dynamic

import ptypes "github.com/traefik/paerser/types"

// UDPRouter binds the datagrams of entrypoints to a service (udp.routers.<name>). An entrypoint has one.
type UDPRouter struct {
	// EntryPoints are the names of UDP entrypoints. Default: all of them.
	EntryPoints []string `json:"entryPoints,omitempty"`
	// Service is the name of the UDP service that gets the datagrams, as name or name@provider. Required.
	Service string `json:"service,omitempty"`
}

// UDPService is a destination of datagrams (udp.services.<name>). Exactly one kind is set.
type UDPService struct {
	// LoadBalancer sends the datagrams of each session to one server.
	LoadBalancer *UDPServersLoadBalancer `json:"loadBalancer,omitempty"`
	// Weighted splits sessions over several services.
	Weighted *UDPWeightedRoundRobin `json:"weighted,omitempty"`
}

// UDPServersLoadBalancer balances sessions over servers, listed here or named by an endpoint set.
type UDPServersLoadBalancer struct {
	// Strategy chooses the server for a session: wrr, p2c, leastrequest (fewest sessions), or hrw and hash, which keep a
	// client's address on one server.
	Strategy string `json:"strategy,omitempty"`
	// Servers are the addresses that take datagrams.
	Servers []UDPServer `json:"servers,omitempty"`
	// Responses ends a session once the server has sent so many datagrams for each of the client, as one is enough for
	// DNS. 0 sets no limit.
	Responses int `json:"responses,omitempty"`
	// OutlierDetection takes a server out after datagrams that it refused (ICMP port unreachable), for longer each time.
	// It is on, with its defaults, without this section. Status has no effect here.
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// ZoneAware prefers (true) the endpoints in the zone of Sluice, or ignores zones (false). Default: only the hints of
	// EndpointSlices count.
	ZoneAware *bool `json:"zoneAware,omitempty"`
	// DrainTimeout is how long sessions with a removed server may go on. 0 lets them end by their time-out.
	DrainTimeout ptypes.Duration `json:"drainTimeout,omitempty"`

	// EndpointSet names the set of the endpoint lane that lists the servers (source/namespace/service:port/udp). It
	// is set by providers that watch endpoints, instead of Servers, and is no key of files or labels.
	EndpointSet string `json:"-" label:"-"`
}

// SetDefaults takes turns by weight.
func (l *UDPServersLoadBalancer) SetDefaults() { l.Strategy = StrategyWRR }

// UDPServer is one server of a UDP load balancer.
type UDPServer struct {
	// Address is the server as host:port. Required.
	Address string `json:"address,omitempty" secret:"url"`
	// Weight is the share of sessions relative to the other servers. 0 drains the server.
	Weight *int `json:"weight,omitempty"`
}

// SetDefaults materialises the default weight.
func (s *UDPServer) SetDefaults() { s.Weight = pointerTo(1) }

// UDPWeightedRoundRobin splits sessions over services by weight.
type UDPWeightedRoundRobin struct {
	// Services are the services to choose from.
	Services []WeightedService `json:"services,omitempty"`
}
