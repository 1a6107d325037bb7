package xds

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// services are the gRPC services of a Server. The unary methods, which are for REST clients, answer Unimplemented.
type services struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	listenerv3.UnimplementedListenerDiscoveryServiceServer
	routev3.UnimplementedRouteDiscoveryServiceServer
	clusterv3.UnimplementedClusterDiscoveryServiceServer
	endpointv3.UnimplementedEndpointDiscoveryServiceServer
	statusv3.UnimplementedClientStatusDiscoveryServiceServer

	server *Server
}

// StreamAggregatedResources serves all types.
func (s *services) StreamAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer,
) error {
	return s.server.serveWorld(stream, resource.AnyType)
}

// DeltaAggregatedResources serves all types incrementally.
func (s *services) DeltaAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	return s.server.serveDelta(stream, resource.AnyType)
}

// StreamListeners serves listeners.
func (s *services) StreamListeners(stream listenerv3.ListenerDiscoveryService_StreamListenersServer) error {
	return s.server.serveWorld(stream, resource.ListenerType)
}

// DeltaListeners serves listeners incrementally.
func (s *services) DeltaListeners(stream listenerv3.ListenerDiscoveryService_DeltaListenersServer) error {
	return s.server.serveDelta(stream, resource.ListenerType)
}

// StreamRoutes serves routes.
func (s *services) StreamRoutes(stream routev3.RouteDiscoveryService_StreamRoutesServer) error {
	return s.server.serveWorld(stream, resource.RouteType)
}

// DeltaRoutes serves routes incrementally.
func (s *services) DeltaRoutes(stream routev3.RouteDiscoveryService_DeltaRoutesServer) error {
	return s.server.serveDelta(stream, resource.RouteType)
}

// StreamClusters serves clusters.
func (s *services) StreamClusters(stream clusterv3.ClusterDiscoveryService_StreamClustersServer) error {
	return s.server.serveWorld(stream, resource.ClusterType)
}

// DeltaClusters serves clusters incrementally.
func (s *services) DeltaClusters(stream clusterv3.ClusterDiscoveryService_DeltaClustersServer) error {
	return s.server.serveDelta(stream, resource.ClusterType)
}

// StreamEndpoints serves endpoints.
func (s *services) StreamEndpoints(stream endpointv3.EndpointDiscoveryService_StreamEndpointsServer) error {
	return s.server.serveWorld(stream, resource.EndpointType)
}

// DeltaEndpoints serves endpoints incrementally.
func (s *services) DeltaEndpoints(stream endpointv3.EndpointDiscoveryService_DeltaEndpointsServer) error {
	return s.server.serveDelta(stream, resource.EndpointType)
}
