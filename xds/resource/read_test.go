package resource_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/xds/resource"
)

// TestWhatIsPublishedIsRead reads the resources of all kinds of services.
func TestWhatIsPublishedIsRead(t *testing.T) {
	for name, config := range published {
		t.Run(name, func(t *testing.T) {
			bundle, _, err := parse(t, config).translate("svc@file")
			if err != nil {
				t.Fatal(err)
			}
			route, err := resource.ReadListener(bundle.Listeners[0])
			if err != nil || route != bundle.Routes[0].GetName() {
				t.Fatalf("the listener leads to %q: %v", route, err)
			}
			routing, err := resource.ReadRoute(bundle.Routes[0])
			if err != nil {
				t.Fatal(err)
			}
			clusters := map[string]*resource.Cluster{}
			for _, one := range bundle.Clusters {
				if clusters[one.GetName()], err = resource.ReadCluster(one); err != nil {
					t.Fatal(err)
				}
			}
			for _, used := range routing.Clusters() {
				if clusters[used] == nil {
					t.Errorf("the cluster %s is not in the bundle", used)
				}
			}
			if outdated := routing.Outdated(clusters); outdated != "" {
				t.Errorf("the cluster %s belongs to another route", outdated)
			}
			for name, one := range clusters {
				if strings.HasPrefix(name, "svc@file/") {
					slices.Reverse(one.Members)
					if outdated := routing.Outdated(clusters); outdated != name {
						t.Errorf("with other members of %s, that of another route is %q", name, outdated)
					}
					slices.Reverse(one.Members)
				}
			}
			for _, one := range bundle.Assignments {
				if _, err := resource.ReadAssignment(one.Assignment(someSet)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// someSet returns the endpoint sets of the names in published.
func someSet(key string) (dynamic.EndpointSet, bool) {
	if key == "dns/c.example:80" {
		return dynamic.EndpointSet{}, false
	}
	return dynamic.EndpointSet{Key: key, Endpoints: []dynamic.Endpoint{
		{Address: netip.MustParseAddrPort("192.0.2.7:80"), Zone: "a"},
		{Address: netip.MustParseAddrPort("192.0.2.8:80"), Zone: "b"},
		{Address: netip.MustParseAddrPort("192.0.2.9:80"), Zone: "b", Terminating: true},
	}}, true
}

// TestServicesComeBack publishes load balancers, reads them, and compares the options.
func TestServicesComeBack(t *testing.T) {
	for name, want := range map[string]string{
		"least-request": `svc: {loadBalancer: {strategy: p2c, panicThreshold: 40, servers: [{url: "h2c://192.0.2.1:80"}]}}`,
		"round-robin":   published["round-robin"],
		"hrw":           `svc: {loadBalancer: {strategy: hrw, servers: []}}`,
		"hash-header": `
svc: {loadBalancer: {strategy: hash, hash: {source: header, name: x-user, boundedLoad: 125}, servers: []}}`,
		"hash-cookie": published["hash-cookie"],
		"sticky":      published["sticky"],
		"limits":      strings.ReplaceAll(published["limits"], ", maxConnections: 2", ""),
	} {
		t.Run(name, func(t *testing.T) {
			bundle, _, err := parse(t, published[name]).translate("svc@file")
			if err != nil {
				t.Fatal(err)
			}
			routing, err := resource.ReadRoute(bundle.Routes[0])
			if err != nil {
				t.Fatal(err)
			}
			cluster, err := resource.ReadCluster(bundle.Clusters[0])
			if err != nil {
				t.Fatal(err)
			}
			var servers []dynamic.Server
			if len(bundle.Assignments) == 1 {
				endpoints, err := resource.ReadAssignment(bundle.Assignments[0].Assignment(someSet))
				if err != nil {
					t.Fatal(err)
				}
				servers = endpoints.Servers(cluster.Scheme())
			}
			got := cluster.Service(routing, "", servers)
			again, _, err := services{"svc@file": {LoadBalancer: got}}.translate("svc@file")
			if err != nil {
				t.Fatal(err)
			}
			expected, _, err := parse(t, want).translate("svc@file")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(texts(t, expected), texts(t, again)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func texts(t *testing.T, bundle resource.Bundle) (all []string) {
	for _, one := range resources(bundle) {
		all = append(all, string(text(t, one)))
	}
	return all
}

// TestOthersAreRefused reads resources with one field more than Sluice publishes.
func TestOthersAreRefused(t *testing.T) {
	bundle, _, err := parse(t, published["round-robin"]).translate("svc@file")
	if err != nil {
		t.Fatal(err)
	}
	refused := func(name, reason string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: got %v, want %q", name, err, reason)
		}
	}
	listener := proto.CloneOf(bundle.Listeners[0])
	listener.PerConnectionBufferLimitBytes = wrapperspb.UInt32(5)
	_, err = resource.ReadListener(listener)
	refused("a limit of a listener", "per_connection_buffer_limit_bytes", err)
	_, err = resource.ReadListener(&listenerv3.Listener{Name: "x"})
	refused("no API listener", "not an API listener", err)

	route := proto.CloneOf(bundle.Routes[0])
	route.VirtualHosts[0].Routes[0].GetRoute().PrefixRewrite = "/x"
	_, err = resource.ReadRoute(route)
	refused("a rewrite", "virtual_hosts", err)
	route = proto.CloneOf(bundle.Routes[0])
	route.VirtualHosts = append(route.VirtualHosts, route.VirtualHosts[0])
	_, err = resource.ReadRoute(route)
	refused("two virtual hosts", "a single virtual host", err)
	_, err = resource.ReadRoute(&routev3.RouteConfiguration{Name: "x"})
	refused("no virtual host", "a single virtual host", err)

	cluster := proto.CloneOf(bundle.Clusters[0])
	cluster.ConnectTimeout = durationpb.New(1)
	_, err = resource.ReadCluster(cluster)
	refused("a timeout", "connect_timeout", err)
	cluster = proto.CloneOf(bundle.Clusters[0])
	cluster.LbPolicy = clusterv3.Cluster_MAGLEV
	_, err = resource.ReadCluster(cluster)
	refused("another policy", "lb_policy", err)
	_, err = resource.ReadCluster(&clusterv3.Cluster{Name: "x"})
	refused("no EDS", "names no EDS resource", err)

	assignment := bundle.Assignments[0].Assignment(someSet)
	assignment.Endpoints[0].Priority = 1
	_, err = resource.ReadAssignment(assignment)
	refused("a priority", "the field priority", err)
	assignment = bundle.Assignments[0].Assignment(someSet)
	assignment.Endpoints[0].LbEndpoints[0].LoadBalancingWeight = wrapperspb.UInt32(9)
	_, err = resource.ReadAssignment(assignment)
	refused("a weight", "lb_endpoints", err)
	_, err = resource.ReadAssignment(&endpointv3.ClusterLoadAssignment{Endpoints: []*endpointv3.LocalityLbEndpoints{
		{LbEndpoints: []*endpointv3.LbEndpoint{{}}},
	}})
	refused("no address", "has the address", err)
}

// TestEnvironmentsAreDescribed wants the text of an environment service to name the clusters.
func TestEnvironmentsAreDescribed(t *testing.T) {
	for name, want := range map[string]string{
		"environment": "by the header X-Env: dev to a@file; dev.proj1 to a@file 33.33%, c@file 66.67%; " +
			"dev.proj1.feature1 to set@kubernetes; otherwise to a@file",
		"environment-strict": "by the header X-Virtual-Env: dev to a@file; dev.a to a@file, mirrored to c@file 100%; " +
			"otherwise to a@file",
	} {
		bundle, _, err := parse(t, published[name]).translate("svc@file")
		if err != nil {
			t.Fatal(err)
		}
		if routing, err := resource.ReadRoute(bundle.Routes[0]); err != nil || routing.String() != want {
			t.Errorf("%s: %v, %v, want %s", name, routing, err, want)
		}
	}
}

// TestOtherEnvironmentsAreRefused reads RouteConfigurations of environment services whose metadata and routes differ.
func TestOtherEnvironmentsAreRefused(t *testing.T) {
	const key = "sluice.dev/environment"
	text := structpb.NewStringValue
	fields := func(from *routev3.RouteConfiguration) map[string]*structpb.Value {
		return from.GetVirtualHosts()[0].GetMetadata().GetFilterMetadata()[key].GetFields()
	}
	subset := func(from *routev3.RouteConfiguration) map[string]*structpb.Value {
		return fields(from)["subsets"].GetListValue().GetValues()[0].GetStructValue().GetFields()
	}
	for _, test := range []struct {
		name, of, reason string
		change           func(*routev3.RouteConfiguration)
	}{
		{"another splitter", "environment", "virtual_hosts", func(from *routev3.RouteConfiguration) {
			fields(from)["splitter"] = text("-")
		}},
		{"no header", "environment", "environment.header", func(from *routev3.RouteConfiguration) {
			delete(fields(from), "header")
		}},
		{"an unknown option", "environment", "virtual_hosts", func(from *routev3.RouteConfiguration) {
			fields(from)["more"] = text("x")
		}},
		{"another type", "environment", "a field of another type", func(from *routev3.RouteConfiguration) {
			fields(from)["header"] = structpb.NewNumberValue(1)
		}},
		{"tags without strict", "environment", "tags without strict", func(from *routev3.RouteConfiguration) {
			fields(from)["tags"] = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{text("x")}})
		}},
		{"one route less", "environment", "other routes than", func(from *routev3.RouteConfiguration) {
			host := from.GetVirtualHosts()[0]
			host.Routes = host.GetRoutes()[1:]
		}},
		{"another order", "environment", "virtual_hosts", func(from *routev3.RouteConfiguration) {
			slices.Reverse(from.GetVirtualHosts()[0].GetRoutes()[:3])
		}},
		{"another cluster of one route", "environment", "virtual_hosts", func(from *routev3.RouteConfiguration) {
			to := &routev3.RouteAction_Cluster{Cluster: "x"}
			from.GetVirtualHosts()[0].GetRoutes()[2].GetRoute().ClusterSpecifier = to
		}},
		{"another default", "environment", "virtual_hosts", func(from *routev3.RouteConfiguration) {
			to := &routev3.RouteAction_Cluster{Cluster: "x"}
			from.GetVirtualHosts()[0].GetRoutes()[0].GetRoute().ClusterSpecifier = to
		}},
		{"a subset without clusters", "environment-strict", "a subset has no route", func(from *routev3.RouteConfiguration) {
			for _, one := range from.GetVirtualHosts()[0].GetRoutes() {
				if one.GetMatch().GetHeaders() != nil {
					one.Action = &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 503}}
				}
			}
		}},
		{"a cluster of a subset", "environment", "names the cluster of a subset", func(from *routev3.RouteConfiguration) {
			subset(from)["service"] = text("x")
		}},
		{"no cluster of a ready subset", "environment-ready", "names the cluster", func(from *routev3.RouteConfiguration) {
			delete(subset(from), "service")
		}},
		{"a cluster of all", "environment", "without the fallback any", func(from *routev3.RouteConfiguration) {
			fields(from)["service"] = text("x")
		}},
		{"another cluster of all", "environment-any", "virtual_hosts", func(from *routev3.RouteConfiguration) {
			fields(from)["service"] = text("x")
		}},
		{"other metadata", "environment", "virtual_hosts", func(from *routev3.RouteConfiguration) {
			from.GetVirtualHosts()[0].GetMetadata().GetFilterMetadata()["x"] = &structpb.Struct{}
		}},
		{"no metadata", "environment", "a single virtual host", func(from *routev3.RouteConfiguration) {
			from.GetVirtualHosts()[0].Metadata = nil
		}},
	} {
		bundle, _, err := parse(t, published[test.of]).translate("svc@file")
		if err != nil {
			t.Fatal(err)
		}
		test.change(bundle.Routes[0])
		if _, err := resource.ReadRoute(bundle.Routes[0]); err == nil || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.reason)
		}
	}
}

// FuzzRead reads any bytes as each type; what is read must not panic.
func FuzzRead(f *testing.F) {
	for _, config := range published {
		bundle, _, err := parse(f, config).translate("svc@file")
		if err != nil {
			f.Fatal(err)
		}
		for _, one := range resources(bundle) {
			content, err := proto.Marshal(one)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content)
		}
	}
	f.Fuzz(func(_ *testing.T, content []byte) {
		listener, route := &listenerv3.Listener{}, &routev3.RouteConfiguration{}
		cluster, assignment := &clusterv3.Cluster{}, &endpointv3.ClusterLoadAssignment{}
		if proto.Unmarshal(content, listener) == nil {
			_, _ = resource.ReadListener(listener)
		}
		if proto.Unmarshal(content, route) == nil {
			_, _ = resource.ReadRoute(route)
		}
		if proto.Unmarshal(content, cluster) == nil {
			_, _ = resource.ReadCluster(cluster)
		}
		if proto.Unmarshal(content, assignment) == nil {
			if read, err := resource.ReadAssignment(assignment); err == nil {
				_ = read.Servers("http")
			}
		}
	})
}
