package xds_test

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/xds"
)

var address = netip.MustParseAddrPort("192.0.2.1:80")

// worldStream is a state-of-the-world stream of a test.
type worldStream struct {
	t      *testing.T
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	last   *discoveryv3.DiscoveryResponse
}

func (w *world) stream() *worldStream {
	w.t.Helper()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(w.raw()).StreamAggregatedResources(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return &worldStream{t: w.t, stream: stream, last: &discoveryv3.DiscoveryResponse{}}
}

// request subscribes to names of a type, and acknowledges the last response.
func (s *worldStream) request(typeURL string, names ...string) {
	s.t.Helper()
	request := &discoveryv3.DiscoveryRequest{TypeUrl: typeURL, ResourceNames: names, Node: &corev3.Node{Id: "n"}}
	if s.last.GetTypeUrl() == typeURL {
		request.VersionInfo, request.ResponseNonce = s.last.GetVersionInfo(), s.last.GetNonce()
	}
	if err := s.stream.Send(request); err != nil {
		s.t.Fatal(err)
	}
}

// receive returns the next response.
func (s *worldStream) receive() *discoveryv3.DiscoveryResponse {
	s.t.Helper()
	response, err := s.stream.Recv()
	if err != nil {
		s.t.Fatal(err)
	}
	s.last = response
	return response
}

func TestUnavailableUntilReady(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	stream := w.stream()
	if _, err := stream.stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("%v, want Unavailable", err)
	}
	w.ready()
	until(t, "the stream is served", func() bool { return w.served(t.Context()) == nil })
}

// served opens a stream with a subscription. If it returns nil, the stream is open until ctx ends.
func (w *world) served(ctx context.Context) error {
	w.t.Helper()
	channel := w.raw()
	context.AfterFunc(ctx, func() { _ = channel.Close() })
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(channel).StreamAggregatedResources(ctx)
	if err != nil {
		_ = channel.Close()
		return err
	}
	// A stream that is refused may end before it is written to; Recv has the reason.
	_ = stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.ListenerType, ResourceNames: []string{probe}})
	if _, err = stream.Recv(); err != nil {
		_ = channel.Close() // Connections are bounded too.
	}
	return err
}

// TestOnlyTheChangedEndpointsAreSent subscribes to two services, changes a third one and the annotations of none, and
// wants one resource for one change.
func TestOnlyTheChangedEndpointsAreSent(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	for _, key := range []string{"k/a/one:80", "k/a/two:80", "k/a/three:80"} {
		w.set(key, address)
	}
	w.ready()
	s := w.stream()
	s.request(resource.EndpointType, "k/a/one:80", "k/a/two:80")
	until(t, "both are sent", func() bool { return len(s.receive().GetResources()) == 2 })
	s.request(resource.EndpointType, "k/a/one:80", "k/a/two:80")
	other := netip.MustParseAddrPort("192.0.2.2:80")
	w.set("k/a/three:80", other) // Not subscribed.
	w.set("k/a/two:80", address) // Equal.
	w.set("k/a/one:80", address, other)
	response := s.receive()
	if len(response.GetResources()) != 1 {
		t.Fatalf("%d resources, want the changed one", len(response.GetResources()))
	}
	s.request(resource.EndpointType, "k/a/one:80", "k/a/two:80")
	until(t, "the acknowledgement is known", func() bool {
		clients := w.server.Clients()
		return len(clients) == 1 && len(clients[0].Types) == 1 && clients[0].Types[0].Status == xds.StatusSynced &&
			clients[0].Types[0].Acknowledged == response.GetVersionInfo()
	})
}

// TestAnUnknownListenerIsAnswered wants a response to each request with a new name, also when the name is unknown: it
// has all listeners of the request that exist.
func TestAnUnknownListenerIsAnswered(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	until(t, "the listener is published", func() bool { return len(w.names("lds")) == 2 })
	s := w.stream()
	for _, names := range [][]string{
		{"absent.a:80"}, {"absent.a:80", "one.a:80"}, {"absent.a:80", "one.a:80", "other.a:80"},
	} {
		s.request(resource.ListenerType, names...)
		if got, want := len(s.receive().GetResources()), min(len(names)-1, 1); got != want {
			t.Errorf("%v: %d listeners, want %d", names, got, want)
		}
	}
}

// TestRejectionsAreVerdicts sends a NACK and then an ACK.
func TestRejectionsAreVerdicts(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	s := w.stream()
	s.request(resource.ClusterType, "one.a:80")
	response := s.receive()
	err := s.stream.Send(&discoveryv3.DiscoveryRequest{
		TypeUrl: resource.ClusterType, ResourceNames: []string{"one.a:80"}, ResponseNonce: response.GetNonce(),
		ErrorDetail: &rpcstatus.Status{Message: "no such\npolicy"},
	})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a verdict", func() bool { return len(w.publisher.Verdicts()) == 1 })
	if verdict := w.publisher.Verdicts()[0]; verdict.Code != dynamic.CodeRejectedByClient ||
		verdict.Reason != "the client has rejected version "+response.GetVersionInfo()+": no such policy" {
		t.Errorf("%s", verdict)
	}
	if status := w.server.Clients()[0].Status; status != xds.StatusRejected {
		t.Errorf("the stream is %q, want rejected", status)
	}
	s.request(resource.ClusterType, "one.a:80")
	until(t, "the verdict is gone", func() bool { return len(w.publisher.Verdicts()) == 0 })
}

// TestDelta subscribes, unsubscribes and names what does not exist.
func TestDelta(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	stream, err := endpointv3.NewEndpointDiscoveryServiceClient(w.raw()).DeltaEndpoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	send := func(request *discoveryv3.DeltaDiscoveryRequest) {
		t.Helper()
		request.TypeUrl = resource.EndpointType
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
	}
	receive := func() *discoveryv3.DeltaDiscoveryResponse {
		t.Helper()
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	send(&discoveryv3.DeltaDiscoveryRequest{ResourceNamesSubscribe: []string{"k/a/one:80", "k/a/absent:80"}})
	response := receive()
	if !slices.Equal(response.GetRemovedResources(), []string{"k/a/absent:80"}) {
		t.Fatalf("removed %v, want the name that does not exist", response.GetRemovedResources())
	}
	if len(response.GetResources()) != 1 || response.GetResources()[0].GetName() != "k/a/one:80" {
		t.Fatalf("%v, want the other name", response)
	}
	send(&discoveryv3.DeltaDiscoveryRequest{ResponseNonce: response.GetNonce()})
	w.set("k/a/absent:80", address)
	if response = receive(); len(response.GetResources()) != 1 || response.GetResources()[0].GetName() != "k/a/absent:80" {
		t.Fatalf("%v, want the new resource", response)
	}
}

// bound binds every client to a namespace.
type bound struct{ namespace string }

func (b bound) Authenticate(context.Context) (identity string, namespaces []string, err error) {
	return "someone", []string{b.namespace}, nil
}

// TestViews binds a client to a namespace.
func TestViews(t *testing.T) {
	w := start(t, xds.ServerOptions{Authenticator: bound{"shop"}}, []string{"shop"})
	w.set("k/shop/web:80", address)
	w.set("k/other/web:80", address)
	w.ready()
	until(t, "both are published", func() bool { return len(w.names("eds")) == 2 })
	s := w.stream()
	s.request(resource.ListenerType) // All.
	if got := len(s.receive().GetResources()); got != 2 {
		t.Errorf("%d listeners, want the two names of one Service", got)
	}
	s.request(resource.EndpointType, "k/shop/web:80", "k/other/web:80")
	if got := len(s.receive().GetResources()); got != 1 {
		t.Errorf("%d sets of endpoints, want that of the namespace", got)
	}
	for _, client := range w.server.Clients() {
		if !slices.Equal(client.Namespaces, []string{"shop"}) || client.Identity != "someone" {
			t.Errorf("%+v", client)
		}
	}
}

// TestStreamsAreBounded refuses a stream beyond the limit.
func TestStreamsAreBounded(t *testing.T) {
	w := start(t, xds.ServerOptions{MaxStreams: 1})
	w.ready()
	until(t, "the first stream is served", func() bool { return w.served(t.Context()) == nil })
	if err := w.served(t.Context()); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v, want ResourceExhausted", err)
	}
}

// TestStreamsOfAnIdentityAreBounded refuses streams beyond the share of an identity, and counts those of the client
// status service.
func TestStreamsOfAnIdentityAreBounded(t *testing.T) {
	w := start(t, xds.ServerOptions{Authenticator: everything{}, MaxStreams: 4})
	w.ready()
	watching, err := statusv3.NewClientStatusDiscoveryServiceClient(w.raw()).StreamClientStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := watching.Send(&statusv3.ClientStatusRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := watching.Recv(); err != nil {
		t.Fatal(err)
	}
	until(t, "the second stream is served", func() bool { return w.served(t.Context()) == nil })
	if err := w.served(t.Context()); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v, want ResourceExhausted", err)
	}
}

// everything lets one client see everything.
type everything struct{}

func (everything) Authenticate(context.Context) (identity string, namespaces []string, err error) {
	return "someone", nil, nil
}

// TestAClientWithoutNamespacesSeesNothing refuses it.
func TestAClientWithoutNamespacesSeesNothing(t *testing.T) {
	if views := xds.Views([]static.XDSClient{{Identity: "*"}}); len(views) > 0 {
		t.Errorf("views %v", views)
	}
	w := start(t, xds.ServerOptions{Authenticator: nothing{}})
	w.publisher.Apply(dynamic.EndpointSet{Key: "k/shop/web:80"})
	until(t, "the stream is refused", func() bool {
		w.complete(nil, nil)
		return status.Code(w.served(t.Context())) == codes.PermissionDenied
	})
}

// nothing lets one client see no namespace.
type nothing struct{}

func (nothing) Authenticate(context.Context) (identity string, namespaces []string, err error) {
	return "someone", []string{}, nil
}

// TestEndpointsFollowAClusterThatChanges changes how a cluster is balanced: its endpoints come again after it, although
// they are the same, since Envoy waits for them.
func TestEndpointsFollowAClusterThatChanges(t *testing.T) {
	one := startBackend(t)
	w := start(t, xds.ServerOptions{})
	w.services(map[string]*dynamic.Service{"web@file": servers("wrr", one)})
	s := w.stream()
	s.request(resource.ClusterType, "web@file")
	s.receive()
	s.request(resource.ClusterType, "web@file")
	s.request(resource.EndpointType, "web@file")
	if got := s.receive(); got.GetTypeUrl() != resource.EndpointType || len(got.GetResources()) != 1 {
		t.Fatalf("%v, want the endpoints", got)
	}
	s.request(resource.EndpointType, "web@file")
	w.services(map[string]*dynamic.Service{"web@file": servers("leastrequest", one)})
	for _, typeURL := range []string{resource.ClusterType, resource.EndpointType} {
		if got := s.receive(); got.GetTypeUrl() != typeURL || len(got.GetResources()) != 1 {
			t.Errorf("%v, want a response of type %s", got, typeURL)
		}
	}
}
