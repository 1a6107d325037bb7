package resource_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/xds/resource"
)

const (
	typeAssignment = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	typeCluster    = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
)

// named is a resource with a name.
type named interface{ GetName() string }

// controlPlane is an ADS server with the resources of a bundle.
type controlPlane struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer

	// resources are by type URL and name.
	resources map[[2]string]*anypb.Any
	assign    func(name string) *endpointv3.ClusterLoadAssignment

	mu sync.Mutex
	// rejections are the reasons why the client rejected a response, and asked are the names of its last request of a
	// type.
	rejections []string
	asked      map[string][]string
}

func newControlPlane(
	t *testing.T, bundle resource.Bundle, assign func(string) *endpointv3.ClusterLoadAssignment,
) *controlPlane {
	t.Helper()
	c := &controlPlane{resources: map[[2]string]*anypb.Any{}, assign: assign, asked: map[string][]string{}}
	for _, message := range resources(bundle) {
		packed, err := anypb.New(message)
		if err != nil {
			t.Fatal(err)
		}
		c.resources[[2]string{packed.GetTypeUrl(), message.(named).GetName()}] = packed
	}
	return c
}

// StreamAggregatedResources sends the resources that a request names. Acknowledgements name nothing new.
func (c *controlPlane) StreamAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer,
) error {
	for version := 1; ; version++ {
		request, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // the client is gone
		}
		response := &discoveryv3.DiscoveryResponse{
			VersionInfo: fmt.Sprint(version), Nonce: fmt.Sprint(version), TypeUrl: request.GetTypeUrl(),
		}
		if !c.take(request) {
			continue
		}
		for _, name := range request.GetResourceNames() {
			packed := c.resources[[2]string{request.GetTypeUrl(), name}]
			if request.GetTypeUrl() == typeAssignment {
				if packed, err = anypb.New(c.assign(name)); err != nil {
					return err
				}
			}
			if packed != nil {
				response.Resources = append(response.Resources, packed)
			}
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

// take notes a request, and reports whether it names other resources than the one before.
func (c *controlPlane) take(request *discoveryv3.DiscoveryRequest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if detail := request.GetErrorDetail(); detail != nil {
		c.rejections = append(c.rejections, detail.GetMessage())
	}
	names := slices.Sorted(slices.Values(request.GetResourceNames()))
	if slices.Equal(names, c.asked[request.GetTypeUrl()]) {
		return false
	}
	c.asked[request.GetTypeUrl()] = names
	return true
}

// seen returns what the client rejected, and the clusters that it asked for.
func (c *controlPlane) seen() (rejections, clusters []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.rejections), slices.Clone(c.asked[typeCluster])
}

// serve starts a gRPC server and returns its address.
func serve(t *testing.T, register func(*grpc.Server), options ...grpc.ServerOption) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test listens
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	register(server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return netip.MustParseAddrPort(listener.Addr().String())
}

// backend starts a server that answers health checks, and counts them.
func backend(t *testing.T, calls *atomic.Int64) netip.AddrPort {
	t.Helper()
	count := func(
		ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
	) (any, error) {
		calls.Add(1)
		return handler(ctx, request)
	}
	return serve(t, func(server *grpc.Server) {
		grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	}, grpc.UnaryInterceptor(count))
}

// dial returns a client whose resources are those of the control plane.
func dial(t *testing.T, plane *controlPlane, target string) grpc_health_v1.HealthClient {
	t.Helper()
	address := serve(t, func(server *grpc.Server) {
		discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, plane)
	})
	resolver, err := xds.NewXDSResolverWithConfigForTesting(fmt.Appendf(nil, `{
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": ["xds_v3"]}],
		"node": {"id": %q}
	}`, address, t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	client, err := grpc.NewClient("xds:///"+target, grpc.WithResolvers(resolver),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return grpc_health_v1.NewHealthClient(client)
}

// call sends a request, and fails when there is no answer.
func call(t *testing.T, plane *controlPlane, client grpc_health_v1.HealthClient) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
		rejections, _ := plane.seen()
		t.Fatalf("%v; rejected: %q", err, rejections)
	}
}

// TestClientsOfGRPCAccept has a gRPC client use each published service: it must reject no resource, and reach a server.
func TestClientsOfGRPCAccept(t *testing.T) {
	var calls atomic.Int64
	endpoints := []dynamic.Endpoint{{Address: backend(t, &calls), Zone: "a"}}
	assign := func(name string) *endpointv3.ClusterLoadAssignment { return resource.Assignment(name, endpoints) }
	use := func(t *testing.T, bundle resource.Bundle) {
		plane := newControlPlane(t, bundle, assign)
		call(t, plane, dial(t, plane, bundle.Listeners[0].GetName()))
		rejections, asked := plane.seen()
		if len(rejections) > 0 {
			t.Errorf("rejected: %q", rejections)
		}
		routed := routedClusters(t, bundle)
		var want []string
		for _, one := range bundle.Clusters {
			if name := one.GetName(); routed[name] || slices.Contains(asked, name) {
				want = append(want, name)
			}
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("clusters that the client asked for (-want +got):\n%s", diff)
		}
	}
	for name, config := range published {
		t.Run(name, func(t *testing.T) {
			bundle, _, err := parse(t, config).translate("svc@file")
			if err != nil {
				t.Fatal(err)
			}
			use(t, bundle)
		})
	}
	t.Run("set", func(t *testing.T) { use(t, resource.OfSet("east/shop/cart:80")) })
	for name, by := range divisions() {
		t.Run(name, func(t *testing.T) {
			bundle, err := resource.OfDividedSet("east/shop/cart:80", by)
			if err != nil {
				t.Fatal(err)
			}
			use(t, bundle)
		})
	}
}

// routedClusters returns the clusters that routes lead to. Those that only get mirrored requests, or are named in
// metadata, are not among them.
func routedClusters(t *testing.T, bundle resource.Bundle) map[string]bool {
	t.Helper()
	routed := map[string]bool{}
	for _, one := range bundle.Routes[0].GetVirtualHosts()[0].GetRoutes() {
		routed[one.GetRoute().GetCluster()] = true
		for _, part := range one.GetRoute().GetWeightedClusters().GetClusters() {
			routed[part.GetName()] = true
		}
	}
	for _, one := range bundle.Clusters {
		if routed[one.GetName()] && one.GetClusterType() != nil {
			config := &aggregatev3.ClusterConfig{}
			if err := one.GetClusterType().GetTypedConfig().UnmarshalTo(config); err != nil {
				t.Fatal(err)
			}
			for _, member := range config.GetClusters() {
				routed[member] = true
			}
		}
	}
	return routed
}

// TestClientsOfGRPCFollowWeights sends requests to two servers with weights, with every policy that has some.
func TestClientsOfGRPCFollowWeights(t *testing.T) {
	const requests = 600
	var light, heavy atomic.Int64
	first, second := backend(t, &light), backend(t, &heavy)
	for _, strategy := range []string{"wrr", "leastrequest"} {
		t.Run(strategy, func(t *testing.T) {
			light.Store(0)
			heavy.Store(0)
			bundle, _, err := parse(t, fmt.Sprintf(
				`svc: {loadBalancer: {strategy: %s, servers: [{url: "h2c://%s"}, {url: "h2c://%s", weight: 3}]}}`,
				strategy, first, second,
			)).translate("svc@file")
			if err != nil {
				t.Fatal(err)
			}
			plane := newControlPlane(t, bundle, func(string) *endpointv3.ClusterLoadAssignment {
				return bundle.Assignments[0].Assignment(sets{}.get)
			})
			client := dial(t, plane, "svc@file")
			for light.Load() == 0 || heavy.Load() == 0 { // Both are connected.
				call(t, plane, client)
			}
			before := light.Load()
			for range requests {
				call(t, plane, client)
			}
			// A quarter, within five standard deviations of a random choice.
			if got := light.Load() - before; got < requests/4-53 || got > requests/4+53 {
				t.Errorf("%d of %d requests are at the server with a quarter of the weight", got, requests)
			}
		})
	}
}

// TestClientsOfGRPCAcceptAssignments has a client use an assignment with zones, weights and draining endpoints.
func TestClientsOfGRPCAcceptAssignments(t *testing.T) {
	var calls atomic.Int64
	address := backend(t, &calls)
	known := sets{
		"a": {Endpoints: []dynamic.Endpoint{
			{Address: address, Zone: "x"}, {Address: unused(1), Zone: "y", Terminating: true},
		}},
		"b": {Endpoints: []dynamic.Endpoint{
			{Address: address, Zone: "x"}, {Address: unused(1), Zone: "x", Terminating: true},
		}},
	}
	mixed := mixedOf("3*a 4*b")
	bundle := resource.OfSet("east/shop/cart:80")
	plane := newControlPlane(t, bundle, func(name string) *endpointv3.ClusterLoadAssignment {
		assignment := mixed.Assignment(known.get)
		named := proto.CloneOf(assignment)
		named.ClusterName = name
		return named
	})
	call(t, plane, dial(t, plane, "cart.shop:80"))
	if rejections, _ := plane.seen(); len(rejections) > 0 {
		t.Errorf("rejected: %q", rejections)
	}
}

// unused returns an address of the documentation.
func unused(last byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, last}), 80)
}
