package resource

import (
	xdstypev3 "github.com/cncf/xds/go/xds/type/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	clusterprovidedv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/cluster_provided/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/common/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

const (
	// minimumRingSize is the number of entries of a hash ring that gRPC and Envoy have by default.
	minimumRingSize = 1024
	// choices is how many endpoints least_request compares.
	choices = 2
	// wrrLocality is the name in gRPC (Go and C++) of the policy that chooses a locality by weight.
	wrrLocality = "xds_wrr_locality_experimental"
)

// The names of policies in Envoy.
const (
	nameClusterProvided = "envoy.load_balancing_policies.cluster_provided"
	nameLeastRequest    = "envoy.load_balancing_policies.least_request"
	nameRingHash        = "envoy.load_balancing_policies.ring_hash"
	nameRoundRobin      = "envoy.load_balancing_policies.round_robin"
	nameWRRLocality     = "envoy.load_balancing_policies.wrr_locality"
)

// algorithm is how a cluster chooses an endpoint.
type algorithm uint8

const (
	roundRobin algorithm = iota
	leastRequest
	ringHash
)

// policy is the load-balancing policy of a cluster. The zero value is round robin.
type policy struct {
	algorithm algorithm
	// boundedLoad is the bound of ringHash for the load of an endpoint, in percent of its share; 0 is no bound.
	boundedLoad int
	// panicThreshold is in percent; 0 disables it.
	panicThreshold int
}

// policyOf returns the policy of a load balancer. Sticky sessions are kept by hashing their cookie.
func policyOf(strategy picker.Strategy, config *dynamic.ServersLoadBalancer) policy {
	chosen := policy{panicThreshold: config.PanicThreshold}
	switch strategy.Name {
	case dynamic.StrategyHRW, dynamic.StrategyHash:
		chosen.algorithm, chosen.boundedLoad = ringHash, strategy.Hash.BoundedLoad
	case dynamic.StrategyP2C, dynamic.StrategyLeastRequest, dynamic.StrategyLeastTime, dynamic.StrategyPeakEWMA:
		chosen.algorithm = leastRequest
	}
	if isSticky(config) {
		chosen.algorithm = ringHash
	}
	return chosen
}

// apply sets the policy of an EDS cluster. The weights of localities count with every algorithm: they are how
// assignments express the weights of endpoints.
//
// ROUND_ROBIN and RING_HASH need no list of policies, since gRPC wraps ROUND_ROBIN in wrr_locality. A list for
// least_request must be one that Envoy accepts: it rejects wrr_locality with such a child, and a list together with
// locality_weighted_lb_config of the cluster.
func (p policy) apply(to *clusterv3.Cluster) {
	common := &clusterv3.Cluster_CommonLbConfig{
		HealthyPanicThreshold: &typev3.Percent{Value: float64(p.panicThreshold)},
	}
	to.CommonLbConfig = common
	if p.algorithm == leastRequest {
		byWeight := &commonv3.LocalityLbConfig{
			LocalityConfigSpecifier: &commonv3.LocalityLbConfig_LocalityWeightedLbConfig_{
				LocalityWeightedLbConfig: &commonv3.LocalityLbConfig_LocalityWeightedLbConfig{},
			},
		}
		to.LoadBalancingPolicy = policies(named(wrrLocality, leastRequestOfLocality()), named(nameLeastRequest,
			&leastrequestv3.LeastRequest{ChoiceCount: wrapperspb.UInt32(choices), LocalityLbConfig: byWeight}))
		return
	}
	common.LocalityConfigSpecifier = &clusterv3.Cluster_CommonLbConfig_LocalityWeightedLbConfig_{
		LocalityWeightedLbConfig: &clusterv3.Cluster_CommonLbConfig_LocalityWeightedLbConfig{},
	}
	if p.algorithm != ringHash {
		return
	}
	to.LbPolicy = clusterv3.Cluster_RING_HASH
	to.LbConfig = &clusterv3.Cluster_RingHashLbConfig_{RingHashLbConfig: &clusterv3.Cluster_RingHashLbConfig{
		HashFunction:    clusterv3.Cluster_RingHashLbConfig_XX_HASH,
		MinimumRingSize: wrapperspb.UInt64(minimumRingSize),
	}}
	if p.boundedLoad > 0 {
		common.ConsistentHashingLbConfig = &clusterv3.Cluster_CommonLbConfig_ConsistentHashingLbConfig{
			HashBalanceFactor: wrapperspb.UInt32(uint32(p.boundedLoad)), //nolint:gosec // 100 at least
		}
	}
}

// leastRequestOfLocality returns the form of wrr_locality over least_request that gRPC reads and Envoy skips, as it
// skips every TypedStruct of an unknown type. Clients of gRPC without least_request use round_robin.
func leastRequestOfLocality() *xdstypev3.TypedStruct {
	entry := func(name string, config map[string]*structpb.Value) *structpb.Value {
		return structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			name: structpb.NewStructValue(&structpb.Struct{Fields: config}),
		}})
	}
	children := &structpb.ListValue{Values: []*structpb.Value{
		entry("least_request_experimental", map[string]*structpb.Value{"choiceCount": structpb.NewNumberValue(choices)}),
		entry("round_robin", nil),
	}}
	return &xdstypev3.TypedStruct{
		TypeUrl: "type.googleapis.com/" + wrrLocality,
		Value: &structpb.Struct{Fields: map[string]*structpb.Value{
			"childPolicy": structpb.NewListValue(children),
		}},
	}
}

// applyAggregate sets the policy of an aggregate cluster. Envoy uses the policies of the clusters that it is made of;
// gRPC does not know cluster_provided and uses one policy for all of them, that of the first.
func (p policy) applyAggregate(to *clusterv3.Cluster) {
	provided := named(nameClusterProvided, &clusterprovidedv3.ClusterProvided{})
	rounds := inLocality(named(nameRoundRobin, &roundrobinv3.RoundRobin{}))
	switch p.algorithm {
	case leastRequest:
		least := &leastrequestv3.LeastRequest{ChoiceCount: wrapperspb.UInt32(choices)}
		to.LoadBalancingPolicy = policies(provided, inLocality(named(nameLeastRequest, least)), rounds)
	case ringHash:
		to.LoadBalancingPolicy = policies(provided, named(nameRingHash, &ringhashv3.RingHash{
			HashFunction:    ringhashv3.RingHash_XX_HASH,
			MinimumRingSize: wrapperspb.UInt64(minimumRingSize),
		}))
	default:
		to.LoadBalancingPolicy = policies(provided, rounds)
	}
}

// inLocality returns the policy that chooses a locality by weight, and an endpoint of it by the given policy.
func inLocality(child *corev3.TypedExtensionConfig) *corev3.TypedExtensionConfig {
	return named(nameWRRLocality, &wrrlocalityv3.WrrLocality{EndpointPickingPolicy: policies(child)})
}

// policies returns a list of policies, of which clients use the first one that they know.
func policies(list ...*corev3.TypedExtensionConfig) *clusterv3.LoadBalancingPolicy {
	out := &clusterv3.LoadBalancingPolicy{}
	for _, each := range list {
		out.Policies = append(out.Policies, &clusterv3.LoadBalancingPolicy_Policy{TypedExtensionConfig: each})
	}
	return out
}

// named returns a policy as an extension with the name that it has in Envoy or gRPC.
func named(name string, config proto.Message) *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: name, TypedConfig: pack(config)}
}
