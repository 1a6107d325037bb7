package discovery_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/api/discovery"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/xds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// state is a pipeline whose state does not change.
type state struct{ current *pipeline.State }

func (s state) State() *pipeline.State { return s.current }

// rig is an API with a publisher of two sets of endpoints, in a bubble of synctest.
type rig struct {
	t       *testing.T
	handler http.Handler
	clients discoveryv3.AggregatedDiscoveryServiceClient
}

func inBubble(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		current := state{&pipeline.State{State: provider.State{Changed: make(chan struct{})}, Ready: true}}
		publisher := xds.NewPublisher(xds.Options{
			State: current.State, Logger: telemetry.Discard{}, Started: time.Now(),
		})
		for _, key := range []string{"k/shop/cart:80", "k/shop/web:80"} {
			publisher.Apply(dynamic.EndpointSet{Key: key, Endpoints: []dynamic.Endpoint{
				{Address: netip.MustParseAddrPort("192.0.2.1:8080")},
			}})
		}
		server := xds.NewServer(publisher, xds.ServerOptions{MaxStreams: 10})
		listener := bufconn.Listen(1 << 16)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { publisher.Run(ctx) })
		running.Go(func() {
			if err := server.Serve(ctx, listener); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(func() { cancel(); running.Wait() })
		channel, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = channel.Close() })
		synctest.Wait()
		test(t, &rig{t: t, clients: discoveryv3.NewAggregatedDiscoveryServiceClient(channel), handler: api.New(api.Options{
			State: current, Static: &static.Configuration{API: &static.API{}}, Logger: telemetry.Discard{},
			Parts: []api.Part{discovery.New(server, telemetry.Discard{})},
		})})
	})
}

// follow subscribes to endpoints as a node, and accepts the response, or rejects it with a message.
func (r *rig) follow(node, rejection string, names ...string) {
	r.t.Helper()
	stream, err := r.clients.StreamAggregatedResources(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	request := &discoveryv3.DiscoveryRequest{
		Node: &corev3.Node{Id: node}, TypeUrl: resource.EndpointType, ResourceNames: names,
	}
	if err := stream.Send(request); err != nil {
		r.t.Fatal(err)
	}
	response, err := stream.Recv()
	if err != nil {
		r.t.Fatal(err)
	}
	request.ResponseNonce, request.VersionInfo = response.GetNonce(), response.GetVersionInfo()
	if rejection != "" {
		request.VersionInfo, request.ErrorDetail = "", &rpcstatus.Status{Message: rejection}
	}
	if err := stream.Send(request); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

// get returns the answer to a request.
func (r *rig) get(path string) *httptest.ResponseRecorder {
	r.t.Helper()
	answer := httptest.NewRecorder()
	r.handler.ServeHTTP(answer, httptest.NewRequestWithContext(r.t.Context(), "GET", path, nil))
	return answer
}

// listed wants a list, of which the given field has these values in order.
func (r *rig) listed(path, field, next, total string, want ...any) {
	r.t.Helper()
	answer := r.get(path)
	var list []map[string]any
	if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil || answer.Code != 200 {
		r.t.Fatalf("GET %s = %d %s (%v)", path, answer.Code, answer.Body, err)
	}
	got := []any{}
	for _, one := range list {
		got = append(got, one[field])
	}
	if diff := cmp.Diff(append([]any{}, want...), got); diff != "" {
		r.t.Errorf("GET %s: %s (-want +got):\n%s", path, field, diff)
	}
	header := answer.Header()
	if header.Get("X-Next-Page") != next || header.Get("X-Total-Count") != total {
		r.t.Errorf("GET %s: X-Next-Page %q, X-Total-Count %q, want %s and %s", path, header.Get("X-Next-Page"),
			header.Get("X-Total-Count"), next, total)
	}
}

// refused wants an error.
func (r *rig) refused(path string, code int, message string) {
	r.t.Helper()
	answer := r.get(path)
	var problem struct{ Message string }
	if err := json.Unmarshal(answer.Body.Bytes(), &problem); err != nil || answer.Code != code ||
		!strings.Contains(problem.Message, message) {
		r.t.Errorf("GET %s = %d %s, want %d %s", path, answer.Code, answer.Body, code, message)
	}
}

func TestClients(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.listed("/api/xds/clients", "node", "1", "0")
		r.follow("front-b", "no such policy", "k/shop/cart:80")
		r.follow("front-a", "", "k/shop/web:80", "k/shop/absent:80")
		r.listed("/api/xds/clients", "node", "1", "2", "front-a", "front-b")
		r.listed("/api/xds/clients", "status", "1", "2", xds.StatusSynced, xds.StatusRejected)
		r.listed("/api/xds/clients?per_page=1", "node", "2", "2", "front-a")
		r.listed("/api/xds/clients?per_page=1&page=2", "node", "1", "2", "front-b")
		r.listed("/api/xds/clients?status=rejected", "node", "1", "1", "front-b")
		r.listed("/api/xds/clients?search=FRONT-A", "node", "1", "1", "front-a")
		r.listed("/api/xds/clients?search=bufconn&status=pending", "node", "1", "0") // In the address.
		r.refused("/api/xds/clients?page=2", 400, "page: 2")
		r.refused("/api/xds/clients?search=%zz", 400, "query: ")
		var clients []xds.Client
		if err := json.Unmarshal(r.get("/api/xds/clients").Body.Bytes(), &clients); err != nil {
			t.Fatal(err)
		}
		want := xds.ClientType{
			Type: "eds", Names: []string{"k/shop/absent:80", "k/shop/web:80"}, Missing: []string{"k/shop/absent:80"},
			Status: xds.StatusSynced,
		}
		got := clients[0].Types[0]
		if got.Sent == "" || got.Sent != got.Acknowledged || got.SentAt == nil || got.AcknowledgedAt == nil {
			t.Errorf("%+v", got)
		}
		got.Sent, got.Acknowledged, got.SentAt, got.AcknowledgedAt = "", "", nil, nil
		if diff := cmp.Diff(want, got); diff != "" || clients[0].Protocol != "sotw" {
			t.Errorf("protocol %s, (-want +got):\n%s", clients[0].Protocol, diff)
		}
		if rejected := clients[1].Types[0].Rejected; rejected == nil || rejected.Message != "no such policy" {
			t.Errorf("%+v", rejected)
		}
	})
}

func TestResources(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		cart, web := "k/shop/cart:80", "k/shop/web:80"
		r.listed("/api/xds/resources?type=eds", "name", "1", "2", cart, web)
		r.listed("/api/xds/resources?type=eds&per_page=1", "name", "2", "2", cart)
		r.listed("/api/xds/resources?search=CART.shop:", "type", "1", "3", "cds", "lds", "rds")
		r.listed("/api/xds/resources?type=none", "name", "1", "0")
		r.refused("/api/xds/resources?per_page=x", 400, "per_page")
		r.refused("/api/xds/resources?node=front", 404, "no stream has the node front")
		r.follow("front", "", web, "k/shop/absent:80")
		r.follow("front", "", web)
		r.listed("/api/xds/resources?node=front", "name", "1", "1", web)
		r.listed("/api/xds/resources?node=front&type=cds", "name", "1", "0")
		var found []struct {
			Type, Name string
			Resource   struct {
				ClusterName string
				Endpoints   []struct {
					LbEndpoints []struct {
						Endpoint struct {
							Address struct {
								SocketAddress struct {
									Address   string
									PortValue int
								}
							}
						}
					}
				}
			}
		}
		if err := json.Unmarshal(r.get("/api/xds/resources?node=front").Body.Bytes(), &found); err != nil {
			t.Fatal(err)
		}
		one := found[0]
		at := one.Resource.Endpoints[0].LbEndpoints[0].Endpoint.Address.SocketAddress
		if one.Type != "eds" || one.Resource.ClusterName != web || at.Address != "192.0.2.1" || at.PortValue != 8080 {
			t.Errorf("%+v", one)
		}
	})
}
