package main

import (
	"time"

	"github.com/sluiceproxy/sluice/api/live"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// endpoints answers the API's questions about endpoints from the pools.
type endpoints struct{ system *system }

// Endpoints returns the endpoints that the query selects.
func (e endpoints) Endpoints(query live.EndpointQuery) []func() live.Endpoint {
	found := e.system.registry.Standings(loadbalancer.StandingQuery{Search: query.Search, Status: query.Status, Service: query.Service})
	closer := make([]func() live.Endpoint, len(found))
	for i, standing := range found {
		closer[i] = func() live.Endpoint { return endpoint(standing) }
	}
	return closer
}

func endpoint(standing loadbalancer.Standing) live.Endpoint {
	key := standing.Endpoint().Key()
	shown := live.Endpoint{
		Address: standing.Address(), Source: key.Source, UID: key.UID,
		InFlight: standing.Endpoint().InFlight(), ConnectFailures: standing.Endpoint().ConnectFailures(),
		Pools: []live.EndpointPool{}, Upstreams: []live.EndpointUpstream{},
	}
	for _, place := range standing.Places(time.Now()) {
		shown.Pools = append(shown.Pools, live.EndpointPool{
			Service: place.Service, State: place.State.String(), Reason: place.Reason, BackSeconds: place.Back.Seconds(), Share: place.Share,
			LatencySeconds: place.Latency.Seconds(), SlowStart: place.SlowStart, Sticky: place.Sticky,
		})
	}
	for _, upstream := range standing.Upstreams() {
		shown.Upstreams = append(shown.Upstreams, live.EndpointUpstream{
			Scheme: upstream.Scheme, Host: upstream.Host, IdleConnections: upstream.Idle,
		})
	}
	return shown
}
