package resource

import (
	"math"
	"math/big"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// pack returns a message as Any, in deterministic form. Callers have checked that strings are valid UTF-8, which is all
// that can fail.
func pack(message proto.Message) *anypb.Any {
	packed := &anypb.Any{}
	_ = anypb.MarshalFrom(packed, message, proto.MarshalOptions{Deterministic: true})
	return packed
}

// ads is the configuration source of all resources that others name: the stream on which those came.
func ads() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		ResourceApiVersion:    corev3.ApiVersion_V3,
	}
}

// listener returns the API listener of a name with the RouteConfiguration of another one.
func listener(name, routes string) *listenerv3.Listener {
	manager := &managerv3.HttpConnectionManager{
		StatPrefix: name,
		RouteSpecifier: &managerv3.HttpConnectionManager_Rds{
			Rds: &managerv3.Rds{ConfigSource: ads(), RouteConfigName: routes},
		},
		HttpFilters: []*managerv3.HttpFilter{{
			Name:       "envoy.filters.http.router",
			ConfigType: &managerv3.HttpFilter_TypedConfig{TypedConfig: pack(&routerv3.Router{})},
		}},
	}
	return &listenerv3.Listener{Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: pack(manager)}}
}

// target is where the requests to a service go.
type target struct {
	// splits are the clusters, each once, with their shares of the requests; their order is that of the configuration.
	splits []split
	// mirrors get copies of the requests.
	mirrors []*routev3.RouteAction_RequestMirrorPolicy
	// hashing is how RING_HASH clusters hash a request; empty when there are none.
	hashing []*routev3.RouteAction_HashPolicy
	// choice is how the requests to an environment service are divided; nil for others. The other fields are then empty.
	choice *choice
}

// all returns the targets among which requests are divided.
func (t *target) all() []*target {
	if t.choice == nil {
		return []*target{t}
	}
	return append(slices.Clone(t.choice.subsets), t.choice.standard, t.choice.missing())
}

// split is the share of the requests that a cluster gets.
type split struct {
	cluster string
	share   *big.Rat
}

// routeConfiguration returns the RouteConfiguration of a name: one route to a target, or those of an environment
// service.
func routeConfiguration(name string, to *target) *routev3.RouteConfiguration {
	host := &routev3.VirtualHost{Name: name, Domains: []string{"*"}}
	if to.choice == nil {
		host.Routes = []*routev3.Route{route(rule{to: to})}
	} else {
		host.Metadata = to.choice.metadata()
		for _, one := range to.choice.rules() {
			host.Routes = append(host.Routes, route(one))
		}
	}
	return &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{host}}
}

// route returns the route of a rule.
func route(of rule) *routev3.Route {
	made := &routev3.Route{Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: ""}}}
	if of.matcher != nil {
		made.Match.Headers = []*routev3.HeaderMatcher{of.matcher}
	}
	action := &routev3.RouteAction{
		HashPolicy: of.to.hashing, RequestMirrorPolicies: of.to.mirrors,
		Timeout: durationpb.New(0), // Without it Envoy ends responses after 15 s.
	}
	if len(of.to.splits) == 1 {
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: of.to.splits[0].cluster}
	} else {
		action.ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: weightedClusters(of.to.splits)}
	}
	made.Action = &routev3.Route_Route{Route: action}
	return made
}

func weightedClusters(splits []split) *routev3.WeightedCluster {
	shares := make([]*big.Rat, 0, len(splits))
	for _, one := range splits {
		shares = append(shares, one.share)
	}
	weighted := &routev3.WeightedCluster{}
	for i, weight := range integers(shares, math.MaxUint32) {
		weighted.Clusters = append(weighted.Clusters, &routev3.WeightedCluster_ClusterWeight{
			Name: splits[i].cluster, Weight: wrapperspb.UInt32(weight),
		})
	}
	return weighted
}
