package xds_test

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/xds"
)

// bubble is a publisher with its server in a bubble of synctest, where connections are in memory and time costs none.
type bubble struct {
	t         *testing.T
	publisher *xds.Publisher
	server    *xds.Server
	listener  *counted
	meter     *meter
}

// meter counts what tests look at.
type meter struct {
	mu      sync.Mutex
	overdue int
	causes  []string // of responses
}

func (*meter) Changed(string, int)        {}
func (*meter) Streams(int)                {}
func (*meter) Acknowledged(time.Duration) {}
func (*meter) Rejected(string)            {}
func (*meter) Expired(string)             {}

func (m *meter) Sent(_, cause string, _ int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.causes = append(m.causes, cause)
}

func (m *meter) Overdue() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.overdue++
}

// inBubble runs a test with a complete and empty state, and sets of one endpoint at these keys.
func inBubble(t *testing.T, keys []string, test func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, bubbleOf(t, keys, xds.ServerOptions{MaxStreams: 100})) })
}

// bubbleOf starts a server in a bubble, which the caller is in.
func bubbleOf(t *testing.T, keys []string, options xds.ServerOptions) *bubble {
	t.Helper()
	state := &pipeline.State{State: provider.State{Changed: make(chan struct{})}, Ready: true}
	b := &bubble{t: t, listener: &counted{Listener: bufconn.Listen(1 << 16)}, meter: &meter{}}
	b.publisher = xds.NewPublisher(xds.Options{
		State: func() *pipeline.State { return state }, Logger: telemetry.Discard{}, Meter: b.meter, Started: time.Now(),
	})
	b.server = xds.NewServer(b.publisher, options)
	for _, key := range keys {
		b.set(key, address)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.publisher.Run(ctx) })
	running.Go(func() {
		if err := b.server.Serve(ctx, b.listener); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	synctest.Wait()
	return b
}

func (b *bubble) set(key string, addresses ...netip.AddrPort) {
	set := dynamic.EndpointSet{Key: key, Noticed: time.Now()}
	for _, one := range addresses {
		set.Endpoints = append(set.Endpoints, dynamic.Endpoint{Address: one})
	}
	b.publisher.Apply(set)
}

func (b *bubble) remove(key string) { b.publisher.Apply(dynamic.EndpointSet{Key: key, Deleted: true}) }

// pass lets time pass.
func pass(of time.Duration) {
	<-time.After(of) //nolint:forbidigo // a clock that costs no time
	synctest.Wait()
}

// client returns a client with a connection of its own. Its windows are fixed, and no larger than by default.
func (b *bubble) client() discoveryv3.AggregatedDiscoveryServiceClient {
	b.t.Helper()
	channel, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(1<<16), grpc.WithInitialConnWindowSize(1<<16),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return b.listener.DialContext(ctx) }))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = channel.Close() })
	return discoveryv3.NewAggregatedDiscoveryServiceClient(channel)
}

// TestAClientThatDoesNotReadIsEnded has a client that leaves large responses unread: its stream ends and is counted,
// its connection is closed, and another client is served meanwhile.
func TestAClientThatDoesNotReadIsEnded(t *testing.T) {
	keys := many()
	inBubble(t, keys, func(t *testing.T, b *bubble) {
		lazy, err := b.client().StreamAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, typeURL := range []string{resource.ClusterType, resource.ListenerType} {
			if err := lazy.Send(&discoveryv3.DiscoveryRequest{TypeUrl: typeURL}); err != nil {
				t.Fatal(err)
			}
		}
		other := b.delta()
		other.subscribe(resource.EndpointType, keys[0])
		other.acknowledge(other.next())
		pass(19 * time.Second)
		if b.meter.overdue != 0 || len(b.server.Clients()) != 2 {
			t.Errorf("%d streams of %d are overdue within the time", b.meter.overdue, len(b.server.Clients()))
		}
		b.set(keys[0], address, netip.MustParseAddrPort("192.0.2.2:80"))
		if got := other.next(); len(got.GetResources()) != 1 {
			t.Errorf("%v, want the change while the other client does not read", got)
		}
		pass(10 * time.Second)
		if clients := b.server.Clients(); b.meter.overdue != 1 || len(clients) != 1 || clients[0].Protocol != "delta" {
			t.Errorf("%d streams were overdue; %d are left, want that of the client that reads", b.meter.overdue, len(clients))
		}
		if got := b.listener.open.Load(); got != 1 {
			t.Errorf("%d connections, want that of the client that reads", got)
		}
		for err == nil {
			_, err = lazy.Recv()
		}
		if code := status.Code(err); code != codes.Canceled && code != codes.DeadlineExceeded && code != codes.Unavailable {
			t.Errorf("the stream ends with %v", err)
		}
	})
}

// TestConnectionsEnd wants a client to be checked again: its connection ends after about half an hour, and a stream
// that it keeps open ends within 40 minutes.
func TestConnectionsEnd(t *testing.T) {
	inBubble(t, []string{"k/a/one:80"}, func(t *testing.T, b *bubble) {
		client := b.client()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		stream, err := client.StreamAggregatedResources(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.ListenerType}); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = stream.Recv()
		if lasted := time.Since(began); err == nil || lasted < 25*time.Minute || lasted > 40*time.Minute {
			t.Errorf("the stream ends after %v: %v", lasted, err)
		}
		if again, err := client.StreamAggregatedResources(ctx, grpc.WaitForReady(true)); err != nil {
			t.Errorf("the next stream: %v", err)
		} else if _, err := again.Header(); err != nil {
			t.Errorf("the next stream: %v", err)
		}
	})
}

// deltaStream is an incremental stream in a bubble.
type deltaStream struct {
	t         *testing.T
	stream    discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	responses chan *discoveryv3.DeltaDiscoveryResponse
}

func (b *bubble) delta() *deltaStream {
	b.t.Helper()
	inner, err := b.client().DeltaAggregatedResources(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	s := &deltaStream{t: b.t, stream: inner, responses: make(chan *discoveryv3.DeltaDiscoveryResponse, 100)}
	go func() {
		for {
			response, err := inner.Recv()
			if err != nil {
				return
			}
			s.responses <- response
		}
	}()
	return s
}

// send sends a request and waits until it has been taken.
func (s *deltaStream) send(request *discoveryv3.DeltaDiscoveryRequest) {
	s.t.Helper()
	if err := s.stream.Send(request); err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
}

func (s *deltaStream) subscribe(typeURL string, names ...string) {
	s.t.Helper()
	s.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesSubscribe: names})
}

func (s *deltaStream) unsubscribe(typeURL string, names ...string) {
	s.t.Helper()
	s.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesUnsubscribe: names})
}

func (s *deltaStream) acknowledge(response *discoveryv3.DeltaDiscoveryResponse) {
	s.t.Helper()
	s.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.GetTypeUrl(), ResponseNonce: response.GetNonce()})
}

// next returns the next response, or nil when there is none without a further request or change.
func (s *deltaStream) next() *discoveryv3.DeltaDiscoveryResponse {
	synctest.Wait()
	select {
	case response := <-s.responses:
		return response
	default:
		return nil
	}
}

// expect acknowledges the next response and wants it to have these resources, and to remove these.
func (s *deltaStream) expect(resources, removed []string) *discoveryv3.DeltaDiscoveryResponse {
	s.t.Helper()
	response := s.next()
	if response == nil {
		s.t.Fatalf("no response, want %v and %v removed", resources, removed)
	}
	var names []string
	for _, one := range response.GetResources() {
		names = append(names, one.GetName())
	}
	slices.Sort(names)
	gone := slices.Sorted(slices.Values(response.GetRemovedResources()))
	if !slices.Equal(names, resources) || !slices.Equal(gone, removed) {
		s.t.Errorf("%v and %v removed, want %v and %v removed", names, gone, resources, removed)
	}
	s.acknowledge(response)
	return response
}

// nothing wants no response.
func (s *deltaStream) nothing(when string) {
	s.t.Helper()
	if response := s.next(); response != nil {
		s.t.Errorf("%s: %v, want no response", when, response)
	}
}
