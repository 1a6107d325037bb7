package xds_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/sluiceproxy/sluice/xds"
)

// send sends a request as it is.
func (s *worldStream) send(request *discoveryv3.DiscoveryRequest) {
	s.t.Helper()
	if err := s.stream.Send(request); err != nil {
		s.t.Fatal(err)
	}
}

// reject answers the last response with an error.
func (s *worldStream) reject(message string, names ...string) {
	s.t.Helper()
	s.send(&discoveryv3.DiscoveryRequest{
		TypeUrl: s.last.GetTypeUrl(), ResourceNames: names, ResponseNonce: s.last.GetNonce(),
		ErrorDetail: &rpcstatus.Status{Message: message},
	})
}

// subscribed returns the state of a type of the only stream, zero if there is none.
func (w *world) subscribed(kind string) xds.ClientType {
	for _, client := range w.server.Clients() {
		for _, one := range client.Types {
			if one.Type == kind {
				return one
			}
		}
	}
	return xds.ClientType{}
}

// TestOnlyTheFirstRejectionCounts repeats a rejection with other messages.
func TestOnlyTheFirstRejectionCounts(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	s := w.stream()
	s.request(resource.ClusterType, "one.a:80")
	s.receive()
	for i := range 100 {
		s.reject(fmt.Sprint("message ", i), "one.a:80")
	}
	s.request(resource.ListenerType, "one.a:80") // Its answer shows that all of these have arrived.
	s.receive()
	verdicts := w.publisher.Verdicts()
	if len(verdicts) != 1 || !strings.HasSuffix(verdicts[0].Reason, ": message 0") {
		t.Errorf("%v, want the first message", verdicts)
	}
}

// TestRejectionsAreAnnouncedSlowly rejects many responses: readers of the verdicts are woken once a second at most.
func TestRejectionsAreAnnouncedSlowly(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	var announced atomic.Int64
	go func() {
		for {
			select {
			case <-w.publisher.Changed():
				announced.Add(1)
			case <-t.Context().Done():
				return
			}
		}
	}()
	s := w.stream()
	s.request(resource.EndpointType, "k/a/one:80")
	began := time.Now()
	for i := range 100 {
		s.receive()
		s.reject(fmt.Sprint("message ", i), "k/a/one:80")
		w.set("k/a/one:80", netip.AddrPortFrom(address.Addr(), uint16(1000+i)))
	}
	got := announced.Load() // Before the time is taken, in which another one may come.
	if most := int64(time.Since(began)/time.Second) + 1; got > most {
		t.Errorf("%d announcements of 100 rejections, want at most %d", got, most)
	}
	until(t, "the rejections are announced", func() bool { return announced.Load() > 0 })
}

// TestStreamsOfOneNodeAreToldApart has two streams with one node, of which one rejects.
func TestStreamsOfOneNodeAreToldApart(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	bad, good := w.stream(), w.stream()
	for _, s := range []*worldStream{bad, good} {
		s.request(resource.ClusterType, "one.a:80")
		s.receive()
	}
	bad.reject("no", "one.a:80")
	until(t, "a verdict", func() bool { return len(w.publisher.Verdicts()) == 1 })
	good.request(resource.ClusterType, "one.a:80")
	until(t, "the acknowledgement is known", func() bool {
		return slices.ContainsFunc(w.server.Clients(), func(c xds.Client) bool {
			return len(c.Types) == 1 && c.Types[0].Status == xds.StatusSynced
		})
	})
	if got := len(w.publisher.Verdicts()); got != 1 {
		t.Errorf("%d verdicts, want that of the other stream", got)
	}
}

// TestAnAcknowledgementHasTheVersion wants a request with another version to be no acknowledgement: after a rejection a
// client changes its names with the version that it has accepted last.
func TestAnAcknowledgementHasTheVersion(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	s := w.stream()
	s.request(resource.ClusterType, "one.a:80")
	s.receive()
	s.reject("no", "one.a:80")
	until(t, "a verdict", func() bool { return len(w.publisher.Verdicts()) == 1 })
	s.send(&discoveryv3.DiscoveryRequest{
		TypeUrl: resource.ClusterType, ResourceNames: []string{"one.a:80", "absent.a:80"}, ResponseNonce: s.last.GetNonce(),
	})
	s.receive()
	if got := w.subscribed("cds"); got.Acknowledged != "" || got.Rejected == nil || len(w.publisher.Verdicts()) != 1 {
		t.Errorf("%+v, want the rejection to stay", got)
	}
	s.request(resource.ClusterType, "one.a:80", "absent.a:80")
	until(t, "the acknowledgement is known", func() bool { return w.subscribed("cds").Status == xds.StatusSynced })
}

// TestARejectionOfTheVersionThatWasAcceptedStands rejects a response with more names, which has the version of the one
// before. The client changes its names then, with the version that it has accepted last, as gRPC and Envoy do: the
// rejection stays until a response is accepted.
func TestARejectionOfTheVersionThatWasAcceptedStands(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.set("k/a/two:80", address)
	w.ready()
	s := w.stream()
	s.request(resource.ClusterType, "one.a:80")
	version := s.receive().GetVersionInfo()
	s.request(resource.ClusterType, "one.a:80", "two.a:80")
	if got := s.receive().GetVersionInfo(); got != version {
		t.Fatalf("version %s, want %s, since nothing has changed", got, version)
	}
	names := []string{"one.a:80", "two.a:80"}
	s.send(&discoveryv3.DiscoveryRequest{
		TypeUrl: resource.ClusterType, ResourceNames: names, VersionInfo: version, ResponseNonce: s.last.GetNonce(),
		ErrorDetail: &rpcstatus.Status{Message: "no"},
	})
	until(t, "a verdict", func() bool { return len(w.publisher.Verdicts()) == 1 })
	names = append(names, "absent.a:80")
	s.request(resource.ClusterType, names...)
	s.receive()
	if got := w.subscribed("cds"); got.Status != xds.StatusRejected || len(w.publisher.Verdicts()) != 1 {
		t.Errorf("%+v, want the rejection to stay", got)
	}
	s.request(resource.ClusterType, names...)
	until(t, "the acknowledgement is known", func() bool { return w.subscribed("cds").Status == xds.StatusSynced })
	until(t, "the verdict is gone", func() bool { return len(w.publisher.Verdicts()) == 0 })
}

// TestARequestWithoutNonceIsExpired sends names without the nonce of the response before, which changes nothing, and
// then with it.
func TestARequestWithoutNonceIsExpired(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	s := w.stream()
	s.request(resource.ListenerType, "one.a:80")
	s.receive()
	names := []string{"one.a:80", "absent.a:80"}
	s.send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.ListenerType, ResourceNames: names})
	s.request(resource.ClusterType, "one.a:80") // Its answer shows that the request has arrived.
	clusters := s.receive()
	if clusters.GetTypeUrl() != resource.ClusterType {
		t.Fatalf("a response of type %s", clusters.GetTypeUrl())
	}
	if got := w.subscribed("lds").Names; !slices.Equal(got, []string{"one.a:80"}) {
		t.Errorf("names %v after an expired request", got)
	}
	version := w.subscribed("lds").Sent
	s.last = &discoveryv3.DiscoveryResponse{TypeUrl: resource.ListenerType, Nonce: "1", VersionInfo: version}
	s.request(resource.ListenerType, names...)
	if got := s.receive(); got.GetTypeUrl() != resource.ListenerType || len(got.GetResources()) != 1 {
		t.Errorf("%v, want the listener that exists", got)
	}
	if got := w.subscribed("lds").Missing; !slices.Equal(got, []string{"absent.a:80"}) {
		t.Errorf("missing %v", got)
	}
}

// TestARejectionThatAddsNames wants an answer that shows that the new name does not exist.
func TestARejectionThatAddsNames(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	s := w.stream()
	s.request(resource.ListenerType, "one.a:80")
	s.receive()
	s.reject("no", "one.a:80", "absent.a:80")
	s.receive()
	s.reject("no", "one.a:80", "absent.a:80") // Without a new name there is no answer.
	s.request(resource.ClusterType, "one.a:80")
	if got := s.receive(); got.GetTypeUrl() != resource.ClusterType {
		t.Errorf("a response of type %s to a rejection", got.GetTypeUrl())
	}
}

// TestNodesAreShort wants little to be kept of a node.
func TestNodesAreShort(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.ready()
	metadata, err := structpb.NewStruct(map[string]any{"large": strings.Repeat("x", 100_000)})
	if err != nil {
		t.Fatal(err)
	}
	s := w.stream()
	s.send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.ListenerType, ResourceNames: []string{"a"}, Node: &corev3.Node{
		Id: "a\nb" + strings.Repeat("c", 1000), UserAgentName: "agent", Metadata: metadata,
		UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "1"},
	}})
	s.receive()
	client := w.server.Clients()[0]
	if want := "a?b" + strings.Repeat("c", 253); client.Node != want || client.Agent != "agent 1" {
		t.Errorf("node %q, agent %q", client.Node, client.Agent)
	}
	for _, config := range w.status() {
		if config.GetNode().GetMetadata() != nil {
			t.Error("the metadata of the node are kept")
		}
	}
}

// TestNamesAreBounded subscribes to more names than there may be, in both protocols.
func TestNamesAreBounded(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.ready()
	names := make([]string, 10_001)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	s := w.stream()
	s.request(resource.ListenerType, names[1:]...)
	s.receive()
	s.request(resource.ListenerType, names...)
	if _, err := s.stream.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("state of the world: %v, want ResourceExhausted", err)
	}
	delta, err := endpointv3.NewEndpointDiscoveryServiceClient(w.raw()).DeltaEndpoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]string{names[:5_000], names[5_000:]} {
		if err := delta.Send(&discoveryv3.DeltaDiscoveryRequest{ResourceNamesSubscribe: part}); err != nil {
			t.Fatal(err)
		}
	}
	for err == nil {
		_, err = delta.Recv()
	}
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("incremental: %v, want ResourceExhausted", err)
	}
}

// TestAnUnknownTypeDoesNotEndAStream requests a type that is not published beside one that is.
func TestAnUnknownTypeDoesNotEndAStream(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	s := w.stream()
	s.request(resource.SecretType, "certificate")
	s.request(resource.ClusterType, "one.a:80")
	if got := s.receive(); got.GetTypeUrl() != resource.ClusterType || len(got.GetResources()) != 1 {
		t.Errorf("%v", got)
	}
	for i := range 20 {
		// The server may have ended the stream already: Recv returns its status.
		if s.stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: fmt.Sprint("type.googleapis.com/", i)}) != nil {
			break
		}
	}
	if _, err := s.stream.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v, want ResourceExhausted after many such types", err)
	}
	delta, err := discoveryv3.NewAggregatedDiscoveryServiceClient(w.raw()).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, typeURL := range []string{resource.SecretType, resource.ClusterType} {
		err := delta.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesSubscribe: []string{"one.a:80"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := delta.Recv(); err != nil || got.GetTypeUrl() != resource.ClusterType {
		t.Errorf("%v, %v", got, err)
	}
}

// TestStatusOfNamesThatDoNotExist wants CSDS to tell them from others.
func TestStatusOfNamesThatDoNotExist(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("k/a/one:80", address)
	w.ready()
	s := w.stream()
	s.request(resource.ClusterType, "one.a:80", "absent.a:80")
	s.receive()
	s.request(resource.ClusterType, "one.a:80", "absent.a:80")
	until(t, "the acknowledgement is known", func() bool { return w.subscribed("cds").Status == xds.StatusSynced })
	got := map[string]string{}
	for _, config := range w.status() {
		for _, one := range config.GetGenericXdsConfigs() {
			got[one.GetName()] = one.GetClientStatus().String()
		}
	}
	if got["one.a:80"] != "ACKED" || got["absent.a:80"] != "DOES_NOT_EXIST" {
		t.Errorf("%v", got)
	}
}
