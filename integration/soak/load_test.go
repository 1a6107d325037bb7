package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/grpc/interop/grpc_testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// pace is the time from one exchange of a client to the next one by default. The machine shall not be saturated:
// time-outs of clients would say nothing about Sluice.
const pace = 100 * time.Millisecond

// load is a client that makes one exchange after another.
type load struct {
	name string
	// open returns what makes an exchange; it belongs to one goroutine.
	open func(t *testing.T) func() error
}

// count is what became of a load.
type count struct {
	name      string
	exchanges atomic.Int64
}

// run makes exchanges until ctx ends or one fails.
func (c *count) run(ctx context.Context, t *testing.T, pace time.Duration, exchange func() error) {
	t.Helper()
	next := time.NewTicker(pace)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		if err := exchange(); err != nil {
			t.Errorf("%s: exchange %d: %v", c.name, c.exchanges.Load(), err)
			return
		}
		c.exchanges.Add(1)
	}
}

// loads returns all of them.
func (w *world) loads() []load {
	var all []load
	for _, protocol := range append(harness.Protocols(), harness.H3) {
		for _, upstream := range upstreams() {
			name := fmt.Sprintf("%s to %s", protocol, upstream)
			all = append(all, load{name, func(t *testing.T) func() error {
				t.Helper()
				return w.requests(harness.NewClient(t, protocol, w.address(protocol), upstream+".test", w.settings()))
			}})
		}
		all = append(all,
			load{fmt.Sprintf("%s, a connection each", protocol), func(t *testing.T) func() error {
				t.Helper()
				return w.once(t, protocol)
			}},
			load{fmt.Sprintf("%s WebSocket", protocol), func(t *testing.T) func() error {
				t.Helper()
				return w.chat(t, protocol)
			}},
		)
	}
	for _, network := range []string{"tcp", "udp"} {
		all = append(all, load{network, func(t *testing.T) func() error {
			t.Helper()
			return w.exchange(t, network)
		}})
	}
	all = append(all, load{"a certificate of ACME", func(t *testing.T) func() error {
		t.Helper()
		return w.secured(t)
	}})
	for _, protocol := range []harness.Protocol{harness.H2, harness.H2C} {
		for _, upstream := range []string{"h2", "h2c"} {
			all = append(all, load{fmt.Sprintf("gRPC by %s to %s", protocol, upstream), func(t *testing.T) func() error {
				t.Helper()
				return w.calls(t, protocol, upstream)
			}})
		}
	}
	return all
}

// load runs all loads until ctx ends. An exchange that is under way then goes on to its end. A load ends with its first
// exchange that fails.
func (w *world) load(ctx context.Context, t *testing.T) []*count {
	t.Helper()
	var counts []*count
	t.Run("loads", func(t *testing.T) { // At its end the clients close their connections.
		var running sync.WaitGroup
		for _, one := range w.loads() {
			counted := &count{name: one.name}
			counts = append(counts, counted)
			exchange := one.open(t)
			running.Go(func() { counted.run(ctx, t, w.pace, exchange) })
		}
		running.Wait()
	})
	return counts
}

// requests makes an upload that is echoed, a download and two small requests in turn.
func (w *world) requests(client *harness.Client) func() error {
	const large = 300_000
	upload, hash := bytes.Repeat([]byte("0123456789"), 5000), harness.PatternHash(large)
	n := 0
	return func() error {
		n++
		switch n % 4 {
		case 0:
			response, err := client.Try(client.Request(http.MethodPost, "/mirror", bytes.NewReader(upload)))
			return expect(response, err, response.Text == string(upload))
		case 1:
			response, err := client.Try(client.Request(http.MethodGet, fmt.Sprint("/bytes?size=", large), nil))
			if err != nil {
				return err
			}
			got, _, _ := harness.Hash(strings.NewReader(response.Text))
			return expect(response, err, got == hash)
		default:
			start := time.Now()
			response, err := client.Try(client.Request(http.MethodGet, "/", nil))
			w.latencies.Record(time.Since(start))
			return expect(response, err, response.Text != "")
		}
	}
}

// expect returns an error for a response that is not 200 or has not the right body.
func expect(response harness.Response, err error, right bool) error {
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %.200s", response.Status, response.Text)
	case !right:
		return fmt.Errorf("a wrong body of %d bytes", len(response.Text))
	}
	return nil
}

// once makes a connection for each request.
func (w *world) once(t *testing.T, protocol harness.Protocol) func() error {
	t.Helper()
	client := harness.NewClient(t, protocol, w.address(protocol), "h1.test", w.settings())
	return func() error {
		response, err := client.Try(client.Request(http.MethodGet, "/", nil))
		client.CloseIdleConnections()
		return expect(response, err, response.Text != "")
	}
}

// chat opens one WebSocket after another, each for some messages.
func (w *world) chat(t *testing.T, protocol harness.Protocol) func() error {
	t.Helper()
	messages := w.messages()
	client := harness.NewClient(t, protocol, w.address(protocol), "h1.test", w.settings())
	var socket *websocket.Conn
	n := 0
	t.Cleanup(func() {
		if socket != nil {
			_ = socket.CloseNow()
		}
	})
	return func() error {
		var err error
		if n%messages == 0 {
			if socket != nil {
				if err = socket.Close(websocket.StatusNormalClosure, ""); err != nil {
					return fmt.Errorf("close: %w", err)
				}
			}
			if socket, err = client.TryWebSocket("/websocket"); err != nil {
				return fmt.Errorf("open: %w", err)
			}
		}
		n++
		text := fmt.Sprint("message ", n)
		if err = socket.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			return err
		}
		_, got, err := socket.Read(t.Context())
		if err == nil && string(got) != text {
			err = fmt.Errorf("%q came back for %q", got, text)
		}
		return err
	}
}

// calls makes a unary call and streams in turn.
func (w *world) calls(t *testing.T, protocol harness.Protocol, upstream string) func() error {
	t.Helper()
	settings := w.settings()
	if !protocol.Secure() {
		settings = nil
	}
	client := harness.NewGRPC(t, w.address(protocol), upstream+".test", settings)
	payload := &grpc_testing.Payload{Body: bytes.Repeat([]byte{7}, 10_000)}
	n := 0
	return func() error {
		if n++; n%2 == 0 {
			got, err := client.UnaryCall(t.Context(), &grpc_testing.SimpleRequest{Payload: payload})
			if err == nil && !bytes.Equal(got.GetPayload().GetBody(), payload.GetBody()) {
				err = errors.New("another payload came back")
			}
			return err
		}
		sizes := []*grpc_testing.ResponseParameters{{Size: 1}, {Size: 50_000}, {Size: 10}}
		stream, err := client.StreamingOutputCall(t.Context(),
			&grpc_testing.StreamingOutputCallRequest{ResponseParameters: sizes})
		if err != nil {
			return err
		}
		for _, size := range sizes {
			got, err := stream.Recv()
			if err != nil {
				return err
			}
			if length := len(got.GetPayload().GetBody()); length != int(size.GetSize()) {
				return fmt.Errorf("a message of %d bytes, want %d", length, size.GetSize())
			}
		}
		switch _, err := stream.Recv(); {
		case err == nil:
			return errors.New("there is a message after the last one")
		case !errors.Is(err, io.EOF):
			return err
		}
		return nil
	}
}
