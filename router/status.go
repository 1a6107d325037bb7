package router

import "github.com/sluiceproxy/sluice/loadbalancer"

// ServiceStatus is the present state of a service.
type ServiceStatus struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	Middlewares []string `json:"middlewares,omitempty"`
	// Role is what the service is there for below a failover (main, fallback), mirroring (main, mirror), canary (main,
	// canary) or environment service (subset, any).
	Role string `json:"role,omitempty"`
	// Tag is the tag of a subset of an environment service.
	Tag string `json:"tag,omitempty"`
	// Weight is the share among the branches of a service that splits by weight.
	Weight int `json:"weight,omitempty"`
	// Percent is the share of requests that a mirror gets copies of.
	Percent int `json:"percent,omitempty"`
	// Fraction is that share where it is not given in percent, as 1/1000.
	Fraction string `json:"fraction,omitempty"`
	// Up reports whether the service counts as up for services above it, by the health of those below it.
	Up bool `json:"up"`
	// Endpoints are the members of a load balancer's pool.
	Endpoints []EndpointStatus `json:"endpoints,omitempty"`
	// Services are the branches of a service of services.
	Services []ServiceStatus `json:"services,omitempty"`
}

// EndpointStatus is a member of a pool.
type EndpointStatus struct {
	Address string `json:"address"`
	Scheme  string `json:"scheme"`
	// Share is its part of the requests relative to the others; 0 means that it gets none.
	Share uint64 `json:"share"`
	// State is serving, draining, unhealthy or ejected. One that is not serving has a share where no serving one is left.
	State string `json:"state"`
}

// Kinds of services that answer without an endpoint.
const (
	// kindInternal is the kind of the services that Sluice itself answers.
	kindInternal = "internal"
	kindDirect   = "directResponse"
)

func (n *serviceNode) status() ServiceStatus {
	status := ServiceStatus{Name: n.name, Kind: n.kind, Middlewares: n.steps, Up: n.up == nil || n.up()}
	for _, child := range n.children {
		branch := child.node.status()
		branch.Role, branch.Tag, branch.Weight, branch.Percent = child.role, child.tag, child.weight, child.percent
		branch.Fraction = child.fraction
		status.Services = append(status.Services, branch)
	}
	status.Endpoints = endpointsOf(n.pool)
	return status
}

// endpointsOf returns the members of a pool; none where it is nil.
func endpointsOf(pool *loadbalancer.Pool) []EndpointStatus {
	if pool == nil {
		return nil
	}
	var endpoints []EndpointStatus
	snapshot := pool.Snapshot()
	for member, share := range snapshot.Members() {
		endpoints = append(endpoints, EndpointStatus{
			Address: member.Address(), Scheme: member.Upstream().Scheme(), Share: share,
		})
	}
	i := 0
	for state := range snapshot.States() {
		endpoints[i].State = state.String()
		i++
	}
	return endpoints
}

// answers reports whether the service has an endpoint that may answer, or needs none.
func (s *ServiceStatus) answers() bool {
	if s.Kind == kindInternal || s.Kind == kindDirect {
		return true
	}
	for _, endpoint := range s.Endpoints {
		if endpoint.Share > 0 {
			return true
		}
	}
	for i := range s.Services {
		if branch := &s.Services[i]; branch.receivesRequests() && branch.answers() {
			return true
		}
	}
	return false
}

// receivesRequests reports whether clients can get an answer of the branch.
func (s *ServiceStatus) receivesRequests() bool {
	return s.Weight > 0 || s.Role != "" && s.Role != roleMirror
}
