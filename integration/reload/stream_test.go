package reload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/coder/websocket"
	"google.golang.org/grpc/interop/grpc_testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// stream is an exchange that stays open.
type stream interface {
	// converse checks that it works: what is sent arrives at the other side.
	converse(t *testing.T, n int)
	// close ends it, and proves that it was whole until then.
	close(t *testing.T)
}

// openStreams opens server-sent events over HTTP/1.1 and HTTP/2, WebSockets, and streams of gRPC, by turns.
func openStreams(t *testing.T, s *harness.Sluice, backend *harness.Backend) []stream {
	t.Helper()
	address := s.Addr("web")
	clients := map[harness.Protocol]*harness.Client{
		harness.H1:  harness.NewClient(t, harness.H1, address, "stream.test", nil),
		harness.H2C: harness.NewClient(t, harness.H2C, address, "stream.test", nil),
	}
	for _, client := range clients {
		client.Timeout = 0
	}
	calls := harness.NewGRPC(t, address, "grpc.test", nil)
	var open []stream
	for i := range streams {
		switch i % 4 {
		case 0:
			open = append(open, openEvents(t, clients[harness.H1], backend, i))
		case 1:
			open = append(open, openEvents(t, clients[harness.H2C], backend, i))
		case 2:
			open = append(open, &socket{clients[harness.H1].WebSocket("/websocket")})
		case 3:
			both, err := calls.FullDuplexCall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, &call{both})
		}
		open[i].converse(t, i)
	}
	return open
}

// events are server-sent events.
type events struct {
	source *harness.Stream
	body   io.ReadCloser
	lines  *bufio.Reader
}

func openEvents(t *testing.T, client *harness.Client, backend *harness.Backend, i int) stream {
	t.Helper()
	source := backend.Stream(fmt.Sprint(i))
	response, err := client.Do(client.Request(http.MethodGet, fmt.Sprintf("/events?id=%d", i), nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return &events{source, response.Body, bufio.NewReader(response.Body)}
}

func (e *events) converse(t *testing.T, n int) {
	t.Helper()
	harness.Send(t, e.source.Events, fmt.Sprint(n), "the backend takes an event")
	got, err := e.lines.ReadString('\n')
	if err != nil || got != fmt.Sprintf("data: %d\n", n) {
		t.Fatalf("events: got %q, %v; want %d", got, err, n)
	}
	if _, err := e.lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
}

func (e *events) close(t *testing.T) {
	t.Helper()
	close(e.source.Events)
	if rest, err := io.ReadAll(e.lines); err != nil || len(rest) > 0 {
		t.Errorf("events end with %q, %v", rest, err)
	}
}

// socket is a WebSocket.
type socket struct{ connection *websocket.Conn }

func (s *socket) converse(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := s.connection.Write(ctx, websocket.MessageText, fmt.Append(nil, n)); err != nil {
		t.Fatalf("websocket: %v", err)
	}
	if _, got, err := s.connection.Read(ctx); err != nil || string(got) != fmt.Sprint(n) {
		t.Fatalf("websocket: got %q, %v; want %d", got, err, n)
	}
}

func (s *socket) close(t *testing.T) {
	t.Helper()
	if err := s.connection.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("websocket ends with %v", err)
	}
}

// call is a stream of gRPC.
type call struct {
	stream grpc_testing.TestService_FullDuplexCallClient
}

func (c *call) converse(t *testing.T, n int) {
	t.Helper()
	payload := &grpc_testing.Payload{Body: fmt.Append(nil, n)}
	if err := c.stream.Send(&grpc_testing.StreamingOutputCallRequest{Payload: payload}); err != nil {
		t.Fatalf("gRPC: %v", err)
	}
	if got, err := c.stream.Recv(); err != nil || string(got.GetPayload().GetBody()) != fmt.Sprint(n) {
		t.Fatalf("gRPC: got %q, %v; want %d", got.GetPayload().GetBody(), err, n)
	}
}

func (c *call) close(t *testing.T) {
	t.Helper()
	if err := c.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("gRPC ends with %v", err)
	}
}
