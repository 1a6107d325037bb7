package resource

import (
	"math"
	"math/big"

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
}

// split is the share of the requests that a cluster gets.
type split struct {
	cluster string
	share   *big.Rat
}

// routeConfiguration returns the RouteConfiguration of a name, which routes all requests to one target.
func routeConfiguration(name string, to *target) *routev3.RouteConfiguration {
	action := &routev3.RouteAction{
		HashPolicy: to.hashing, RequestMirrorPolicies: to.mirrors,
		Timeout: durationpb.New(0), // Without it Envoy ends responses after 15 s.
	}
	if len(to.splits) == 1 {
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: to.splits[0].cluster}
	} else {
		action.ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: weightedClusters(to.splits)}
	}
	return &routev3.RouteConfiguration{
		Name: name,
		VirtualHosts: []*routev3.VirtualHost{{
			Name:    name,
			Domains: []string{"*"},
			Routes: []*routev3.Route{{
				Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: ""}},
				Action: &routev3.Route_Route{Route: action},
			}},
		}},
	}
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
