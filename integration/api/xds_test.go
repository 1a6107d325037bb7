package api

import (
	"regexp"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// rejects opens a stream of the node tester, which subscribes to all clusters and rejects the response. The stream
// lasts until the test ends.
func rejects(t *testing.T, s *harness.Sluice) {
	t.Helper()
	line, err := s.Log.Wait(t.Context(), "listening", "protocol=xds")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Log.Wait(t.Context(), "xDS is served"); err != nil { // Streams are refused before.
		t.Fatal(err)
	}
	connection, err := grpc.NewClient(regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).StreamAggregatedResources(t.Context())
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
