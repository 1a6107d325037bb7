package resource

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
)

const (
	// outlierInterval is the time between two looks at the results of endpoints. Sluice looks after each result.
	outlierInterval = time.Second
	// failureThreshold is the percentage of failed calls in outlierInterval above which gRPC ejects an endpoint: all
	// must fail, which comes closest to failures in a row.
	failureThreshold = 99
)

// cluster is a cluster with what its users need of it.
type cluster struct {
	*clusterv3.Cluster
	policy policy
	// mixed is its EDS resource; nil where that is an endpoint set, and for aggregate clusters.
	mixed *Mixed
	// members are the clusters of an aggregate cluster in order; nil for others.
	members []string
}

// edsCluster returns a cluster whose endpoints are those of an EDS resource.
func edsCluster(name, assignment string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads(), ServiceName: assignment},
	}
}

// aggregateCluster returns a cluster that uses the first of its members that has endpoints.
func aggregateCluster(name string, members []string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name,
		ClusterDiscoveryType: &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
			Name:        "envoy.clusters.aggregate",
			TypedConfig: pack(&aggregatev3.ClusterConfig{Clusters: members}),
		}},
	}
}

// setHTTP2 makes Envoy use HTTP/2 without TLS; gRPC always does.
func setHTTP2(to *clusterv3.Cluster) {
	options := &httpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
				},
			},
		},
	}
	to.TypedExtensionProtocolOptions = map[string]*anypb.Any{
		"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": pack(options),
	}
}

// setLimits bounds the requests in flight of each client at all endpoints together.
func setLimits(to *clusterv3.Cluster, config *dynamic.ServerLimits) {
	if config == nil || config.MaxPoolConnections <= 0 {
		return
	}
	to.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		Priority: corev3.RoutingPriority_DEFAULT, MaxRequests: number(config.MaxPoolConnections),
	}}}
}

// setOutlierDetection sets options that are given. Envoy counts gateway failures in a row. gRPC has no such count and
// looks at the share of failures; what counts as a failure is up to the client.
func setOutlierDetection(to *clusterv3.Cluster, config *dynamic.OutlierDetection) {
	if config == nil {
		return
	}
	failures, percent := outlier.DefaultConsecutiveFailures, outlier.DefaultMaxEjectedPercent
	if config.ConsecutiveFailures != nil {
		failures = *config.ConsecutiveFailures
	}
	if config.MaxEjectedPercent != nil {
		percent = *config.MaxEjectedPercent
	}
	if failures == 0 {
		return
	}
	to.OutlierDetection = &clusterv3.OutlierDetection{
		Interval:             durationpb.New(outlierInterval),
		BaseEjectionTime:     durationpb.New(time.Duration(config.BaseEjectionTime)),
		MaxEjectionTime:      durationpb.New(time.Duration(config.MaxEjectionTime)),
		MaxEjectionPercent:   number(percent),
		EnforcingSuccessRate: number(0),

		ConsecutiveGatewayFailure:          number(failures),
		EnforcingConsecutiveGatewayFailure: number(100),
		EnforcingConsecutive_5Xx:           number(0),

		FailurePercentageThreshold:     number(failureThreshold),
		EnforcingFailurePercentage:     number(100),
		FailurePercentageMinimumHosts:  number(1),
		FailurePercentageRequestVolume: number(failures),
	}
}

// number returns an option that is not negative.
func number(value int) *wrapperspb.UInt32Value {
	return wrapperspb.UInt32(uint32(min(max(value, 0), 1<<31))) //nolint:gosec // within bounds
}
