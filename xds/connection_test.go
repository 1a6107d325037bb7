package xds_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// counted is a listener in memory that counts the connections which the server has not closed.
type counted struct {
	*bufconn.Listener

	open atomic.Int64
}

// Accept implements net.Listener.
func (c *counted) Accept() (net.Conn, error) {
	inner, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.open.Add(1)
	return &countedConn{Conn: inner, closed: sync.OnceFunc(func() { c.open.Add(-1) })}, nil
}

type countedConn struct {
	net.Conn

	closed func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// stalled is a client's connection from which nothing is read after stall is closed.
type stalled struct {
	net.Conn

	stall, closed chan struct{}
	close         func()
}

// Read implements net.Conn.
func (s *stalled) Read(content []byte) (int, error) {
	select {
	case <-s.stall:
		<-s.closed
		return 0, io.EOF
	default:
		return s.Conn.Read(content)
	}
}

// Close implements net.Conn.
func (s *stalled) Close() error {
	s.close()
	return s.Conn.Close()
}

// stalling returns a client that reads nothing from its connection after stall is closed.
func (b *bubble) stalling(stall chan struct{}) discoveryv3.AggregatedDiscoveryServiceClient {
	b.t.Helper()
	channel, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			inner, err := b.listener.DialContext(ctx)
			closed := make(chan struct{})
			return &stalled{Conn: inner, stall: stall, closed: closed, close: sync.OnceFunc(func() { close(closed) })}, err
		}))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = channel.Close() })
	return discoveryv3.NewAggregatedDiscoveryServiceClient(channel)
}

// many returns the keys of more sets than the windows of a client and the buffers of the server take.
func many() []string {
	var keys []string
	for i := range 2000 {
		keys = append(keys, fmt.Sprintf("k/a/service-%d:80", i))
	}
	return keys
}

// TestAConnectionThatIsNotReadIsClosed has a client that reads nothing from its connection, and goes on to send
// requests, with one response under way: the connection is closed, and another client is served meanwhile.
func TestAConnectionThatIsNotReadIsClosed(t *testing.T) {
	inBubble(t, many(), func(t *testing.T, b *bubble) {
		stall := make(chan struct{})
		lazy, err := b.stalling(stall).StreamAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		other := b.delta()
		other.subscribe(resource.EndpointType, many()[0])
		other.acknowledge(other.next())
		if got := b.listener.open.Load(); got != 2 {
			t.Fatalf("%d connections, want 2", got)
		}
		close(stall)
		request := &discoveryv3.DiscoveryRequest{TypeUrl: resource.ClusterType}
		for range 9 {
			_ = lazy.Send(request) // The connection is in use, so that it is not closed as a dead one.
			pass(2 * time.Second)
		}
		if got := b.listener.open.Load(); got != 2 {
			t.Errorf("%d connections within the time, want 2", got)
		}
		for range 5 {
			_ = lazy.Send(request)
			pass(2 * time.Second)
		}
		if got := b.listener.open.Load(); got != 1 || len(b.server.Clients()) != 1 {
			t.Errorf("%d connections with %d streams, want that of the client that reads", got, len(b.server.Clients()))
		}
		b.set(many()[0], address)
		other.nothing("an equal set")
		b.remove(many()[0])
		if other.next() == nil {
			t.Error("no response for the client that reads")
		}
	})
}

// TestConnectionsAreBounded opens more connections than there may be: those beyond the limit are closed at once, and
// another one is accepted when one has ended.
func TestConnectionsAreBounded(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bubble) {
		dial := func() net.Conn {
			one, err := b.listener.DialContext(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = one.Close() })
			synctest.Wait()
			return one
		}
		first := dial()
		for range 199 { // Twice as many as streams.
			dial()
		}
		if got := b.listener.open.Load(); got != 200 {
			t.Fatalf("%d connections, want 200", got)
		}
		began := time.Now()
		if _, err := io.Copy(io.Discard, dial()); err != nil || time.Since(began) > 0 {
			t.Errorf("the connection beyond the limit ends after %v: %v", time.Since(began), err)
		}
		_ = first.Close()
		synctest.Wait()
		dial()
		if got := b.listener.open.Load(); got != 200 {
			t.Errorf("%d connections, want another one after the first has ended", got)
		}
	})
}
