package dashboard

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// published is static with xDS.
const published = static + `xds: {address: "127.0.0.1:0"}
`

// discovered has services that clients balance over by themselves. @ stands for a backtick.
const discovered = `
http:
  routers:
    shop: {rule: "Host(@shop.example.com@)", service: shop, entryPoints: [web]}
    cart: {rule: "Host(@cart.example.com@)", service: cart, entryPoints: [web]}
    broken: {rule: "Host(@broken.example.com@)", service: shop, middlewares: [missing], entryPoints: [web]}
  services:
    shop: {loadBalancer: {strategy: p2c, servers: [{url: "${A}"}]}}
    cart: {loadBalancer: {servers: [{url: "${A}"}]}}
`

// refusal is the reason with which a client rejects a response.
const refusal = `cluster "shop@file": the load balancing policy LEAST_REQUEST is not supported by this client, which has ` +
	`round_robin and pick_first alone; the previous version of the resource is kept`

// xdsClient is a client of the tests, with one stream.
type xdsClient struct {
	node, agent string
	// names are the subscribed names by type URL.
	names map[string][]string
	// rejects is the type whose responses are rejected; silent clients answer none.
	rejects string
	silent  bool
}

// xdsClients are a client that accepts everything, one that rejects clusters, and one that does not answer.
func xdsClients() []xdsClient {
	return []xdsClient{
		{node: "shop-frontend", agent: "gRPC Go", names: map[string][]string{
			resource.ListenerType: {"shop@file", "cart@file"}, resource.ClusterType: {"shop@file"},
			resource.EndpointType: {"shop@file"},
		}},
		{node: "orders/7d9c6b5f4", agent: "grpc-node-js", rejects: resource.ClusterType, names: map[string][]string{
			resource.ListenerType: {"shop@file"}, resource.ClusterType: {"shop@file"},
		}},
		{node: "reports", agent: "envoy", silent: true, names: map[string][]string{resource.ClusterType: {"*"}}},
	}
}

// connect opens the streams of clients, which answer until the test ends.
func connect(t *testing.T, sluice *harness.Sluice, clients ...xdsClient) {
	t.Helper()
	connection := sluice.DialXDS()
	var answering sync.WaitGroup
	t.Cleanup(func() {
		_ = connection.Close()
		answering.Wait()
	})
	for _, client := range clients {
		stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).StreamAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for typeURL := range client.names {
			if err := stream.Send(client.request(typeURL)); err != nil {
				t.Fatal(err)
			}
		}
		answering.Go(func() { client.answer(stream) })
	}
}

// request is a subscription to the names of a type.
func (c *xdsClient) request(typeURL string) *discoveryv3.DiscoveryRequest {
	return &discoveryv3.DiscoveryRequest{
		TypeUrl: typeURL, ResourceNames: c.names[typeURL], Node: &corev3.Node{
			Id: c.node, UserAgentName: c.agent,
			UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "1.71.0"},
		},
	}
}

// answer accepts or rejects responses until the stream ends.
func (c *xdsClient) answer(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient) {
	for {
		response, err := stream.Recv()
		if err != nil {
			return
		}
		if c.silent {
			continue
		}
		request := c.request(response.GetTypeUrl())
		request.ResponseNonce = response.GetNonce()
		if c.rejects == response.GetTypeUrl() {
			request.ErrorDetail = &rpcstatus.Status{Message: refusal}
		} else {
			request.VersionInfo = response.GetVersionInfo()
		}
		if stream.Send(request) != nil {
			return
		}
	}
}

// TestXDS shows the streams of real clients, of which one rejects a response and one does not answer.
func TestXDS(t *testing.T) {
	chromium := newBrowser(t)
	a := harness.StartBackend(t, "a", nil)
	sluice := harness.Start(t, harness.Setup{
		Static:  published,
		Dynamic: map[string]string{"shop.yaml": strings.ReplaceAll(discovered, "@", "`")},
		Vars:    map[string]string{"A": "http://" + a.H1},
	})
	clients := xdsClients()
	for i := range 60 {
		names := map[string][]string{resource.EndpointType: {"cart@file"}}
		clients = append(clients, xdsClient{node: fmt.Sprintf("worker-%02d", i), agent: "gRPC C++", names: names})
	}
	connect(t, sluice, clients...)
	chromium.run(t, sluice, "/dashboard/", "publishes")
}
