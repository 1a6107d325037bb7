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
	found := e.system.registry.EndpointStatuses(loadbalancer.EndpointQuery{Search: query.Search, Status: query.Status, Service: query.Service})
	closer := make([]func() live.Endpoint, len(found))
	for i, status := range found {
		closer[i] = func() live.Endpoint { return endpoint(status) }
	}
	return closer
}

func endpoint(status loadbalancer.EndpointStatus) live.Endpoint {
	key := status.Endpoint().Key()
	shown := live.Endpoint{
		Address: status.Address(), Source: key.Source, UID: key.UID,
		InFlight: status.Endpoint().InFlight(), ConnectFailures: status.Endpoint().ConnectFailures(),
		Pools: []live.EndpointPool{}, Upstreams: []live.EndpointUpstream{},
	}
	for _, member := range status.Memberships(time.Now()) {
		shown.Pools = append(shown.Pools, live.EndpointPool{
			Service: member.Service, State: member.State.String(), Reason: member.Reason, BackSeconds: member.Back.Seconds(), Share: member.Share,
			LatencySeconds: member.Latency.Seconds(), SlowStart: member.SlowStart, Sticky: member.Sticky,
		})
	}
	for _, upstream := range status.Upstreams() {
		shown.Upstreams = append(shown.Upstreams, live.EndpointUpstream{
			Scheme: upstream.Scheme, Host: upstream.Host, IdleConnections: upstream.Idle,
		})
	}
	return shown
}
