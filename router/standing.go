package router

// ServiceStanding is a service as it stands now.
type ServiceStanding struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	Middlewares []string `json:"middlewares,omitempty"`
	// Role is what the service is there for below a failover (main, fallback) or mirroring service (main, mirror).
	Role string `json:"role,omitempty"`
	// Weight is the share among the branches of a service that splits by weight.
	Weight int `json:"weight,omitempty"`
	// Percent is the share of requests that a mirror gets copies of.
	Percent int `json:"percent,omitempty"`
	// Up reports whether the service counts as up for services above it, by the health of those who answer below it.
	Up bool `json:"up"`
	// Endpoints are the members of a load balancer's pool.
	Endpoints []EndpointStanding `json:"endpoints,omitempty"`
	// Services are the branches of a service of services.
	Services []ServiceStanding `json:"services,omitempty"`
}

// EndpointStanding is a member of a pool.
type EndpointStanding struct {
	Address string `json:"address"`
	Scheme  string `json:"scheme"`
	// Share is its part of the requests relative to the others; 0 means that it gets none.
	Share uint64 `json:"share"`
	// State is serving, draining, unhealthy or ejected. One that is not serving has a share where no serving one is left.
	State string `json:"state"`
}

// kindInternal is the kind of the services that Sluice itself answers.
const kindInternal = "internal"

func (n *serviceNode) standing() ServiceStanding {
	standing := ServiceStanding{Name: n.name, Kind: n.kind, Middlewares: n.steps, Up: n.up == nil || n.up()}
	for _, child := range n.children {
		branch := child.node.standing()
		branch.Role, branch.Weight, branch.Percent = child.role, child.weight, child.percent
		standing.Services = append(standing.Services, branch)
	}
	if n.pool == nil {
		return standing
	}
	snapshot := n.pool.Snapshot()
	for member, share := range snapshot.Members() {
		standing.Endpoints = append(standing.Endpoints, EndpointStanding{
			Address: member.Address(), Scheme: member.Upstream().Key().Scheme, Share: share,
		})
	}
	i := 0
	for state := range snapshot.States() {
		standing.Endpoints[i].State = state.String()
		i++
	}
	return standing
}

// answers reports whether the service has an endpoint that may answer.
func (s *ServiceStanding) answers() bool {
	if s.Kind == kindInternal {
		return true
	}
	for _, endpoint := range s.Endpoints {
		if endpoint.Share > 0 {
			return true
		}
	}
	for i := range s.Services {
		if branch := &s.Services[i]; branch.asked() && branch.answers() {
			return true
		}
	}
	return false
}

// asked reports whether clients can get an answer of the branch.
func (s *ServiceStanding) asked() bool {
	return s.Weight > 0 || s.Role == roleMain || s.Role == roleFallback
}
