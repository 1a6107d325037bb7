package resource

import (
	"errors"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Cluster is what a published cluster says.
type Cluster struct {
	// Name is its name.
	Name string
	// Assignment is the name of its EDS resource; empty for an aggregate cluster.
	Assignment string
	// Members are the clusters of an aggregate cluster, in order; nil for others.
	Members []string

	scheme           string
	policy           policy
	limits           *dynamic.ServerLimits
	outlierDetection *dynamic.OutlierDetection
}

// ReadCluster returns what a published cluster says. It fails for one that OfSet and OfService do not publish.
func ReadCluster(from *clusterv3.Cluster) (*Cluster, error) {
	if from.GetClusterType() != nil {
		return readAggregate(from)
	}
	read := &Cluster{Name: from.GetName(), Assignment: from.GetEdsClusterConfig().GetServiceName(), scheme: schemeHTTP}
	if read.Assignment == "" {
		return nil, errors.New("it names no EDS resource")
	}
	read.policy = readPolicy(from)
	published := edsCluster(read.Name, read.Assignment)
	read.policy.apply(published)
	if len(from.GetTypedExtensionProtocolOptions()) > 0 {
		read.scheme = schemeH2C
		setHTTP2(published)
	}
	if limits := from.GetCircuitBreakers().GetThresholds(); len(limits) == 1 {
		read.limits = &dynamic.ServerLimits{MaxPoolConnections: int(limits[0].GetMaxRequests().GetValue())}
		setLimits(published, read.limits)
	}
	read.outlierDetection = readOutlierDetection(from.GetOutlierDetection())
	setOutlierDetection(published, read.outlierDetection)
	return read, same(published, from)
}

// readAggregate reads an aggregate cluster. Its members have the policy that counts.
func readAggregate(from *clusterv3.Cluster) (*Cluster, error) {
	config := &aggregatev3.ClusterConfig{}
	if err := from.GetClusterType().GetTypedConfig().UnmarshalTo(config); err != nil {
		return nil, errors.New("it is neither an EDS cluster nor an aggregate cluster")
	}
	if len(config.GetClusters()) == 0 {
		return nil, errors.New("it is aggregated of no cluster")
	}
	read := &Cluster{Name: from.GetName(), Members: config.GetClusters()}
	var err error
	for _, algorithm := range []algorithm{roundRobin, leastRequest, ringHash} {
		published := aggregateCluster(read.Name, read.Members)
		policy{algorithm: algorithm}.applyAggregate(published)
		if err = same(published, from); err == nil {
			return read, nil
		}
	}
	return nil, err
}

// readPolicy returns the load-balancing policy of an EDS cluster.
func readPolicy(from *clusterv3.Cluster) policy {
	read := policy{panicThreshold: int(from.GetCommonLbConfig().GetHealthyPanicThreshold().GetValue())}
	switch {
	case from.GetLoadBalancingPolicy() != nil:
		read.algorithm = leastRequest
	case from.GetLbPolicy() == clusterv3.Cluster_RING_HASH:
		read.algorithm = ringHash
		read.boundedLoad = int(from.GetCommonLbConfig().GetConsistentHashingLbConfig().GetHashBalanceFactor().GetValue())
	}
	return read
}

// readOutlierDetection returns the options of an outlier detection; nil for none.
func readOutlierDetection(from *clusterv3.OutlierDetection) *dynamic.OutlierDetection {
	if from == nil {
		return nil
	}
	failures, percent := int(from.GetConsecutiveGatewayFailure().GetValue()), int(from.GetMaxEjectionPercent().GetValue())
	read := &dynamic.OutlierDetection{ConsecutiveFailures: &failures, MaxEjectedPercent: &percent}
	setDuration(&read.BaseEjectionTime, from.GetBaseEjectionTime())
	setDuration(&read.MaxEjectionTime, from.GetMaxEjectionTime())
	return read
}

func setDuration[D ~int64](to *D, from *durationpb.Duration) { *to = D(from.AsDuration()) }

// Service returns the load balancer of an EDS cluster whose requests are hashed as a route says. Its endpoints are
// those of an endpoint set, or the given servers if key is empty.
func (c *Cluster) Service(by *Routing, key string, servers []dynamic.Server) *dynamic.ServersLoadBalancer {
	config := &dynamic.ServersLoadBalancer{
		EndpointSet: key, Servers: servers, PanicThreshold: c.policy.panicThreshold,
		OutlierDetection: c.outlierDetection, Limits: c.limits,
	}
	if key != "" {
		config.Scheme = c.scheme
	}
	switch c.policy.algorithm {
	case roundRobin:
	case leastRequest:
		config.Strategy = dynamic.StrategyP2C
	case ringHash:
		config.Strategy, config.Sticky = by.strategy, by.sticky
		if by.hash != nil {
			bounded := c.policy.boundedLoad
			config.Hash = &dynamic.HashStrategy{Source: by.hash.Source, Name: by.hash.Name, BoundedLoad: &bounded}
		}
	}
	return config
}

// Scheme returns how endpoints are spoken to: http or h2c.
func (c *Cluster) Scheme() string { return c.scheme }

// String returns the load-balancing policy, the protocol, and where the endpoints are.
func (c *Cluster) String() string {
	if c.Members != nil {
		return "the first with endpoints of " + strings.Join(c.Members, ", ")
	}
	names := map[algorithm]string{roundRobin: "round robin", leastRequest: "least request", ringHash: "ring hash"}
	return names[c.policy.algorithm] + ", " + c.scheme + ", endpoints " + c.Assignment
}
