package api

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// rejects opens a stream of the node tester, which subscribes to all clusters and rejects the response. The stream
// lasts until the test ends.
func rejects(t *testing.T, s *harness.Sluice) {
	t.Helper()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(s.DialXDS()).StreamAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request := &discoveryv3.DiscoveryRequest{
		TypeUrl: resource.ClusterType, ResourceNames: []string{"*"}, Node: &corev3.Node{Id: "tester"},
	}
	if err := stream.Send(request); err != nil {
		t.Fatal(err)
	}
	response, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	request.ResponseNonce, request.ErrorDetail = response.GetNonce(), &rpcstatus.Status{Message: "no such policy"}
	if err := stream.Send(request); err != nil {
		t.Fatal(err)
	}
}
