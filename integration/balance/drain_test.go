package balance

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestDrain removes an endpoint over which a WebSocket and a stream of events run. With drainTimeout both end when that
// is over and not before; without it they go on.
func TestDrain(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	fleet := startFleet(t, 3)
	p := startProxy(t, site{
		"limited":   pool("drainTimeout: 1s", fleet[0].server()),
		"unlimited": pool("", fleet[1].server()),
	})
	sockets, bodies := map[string]*websocket.Conn{}, map[string]io.ReadCloser{}
	for _, service := range []string{"limited", "unlimited"} {
		client := p.client(service)
		sockets[service], bodies[service] = client.WebSocket("/websocket"), open(t, client)
		converse(t, sockets[service])
	}
	began := time.Now()
	p.change(site{"limited": pool("drainTimeout: 1s", fleet[2].server()), "unlimited": pool("", fleet[2].server())})
	if got := answeredBy(t, p.client("limited").Get("/")); got != "c" {
		t.Errorf("after the change %s answers", got)
	}
	ended := make(chan time.Duration, 2)
	go func() {
		_, _, err := sockets["limited"].Read(t.Context())
		if err == nil {
			t.Error("the WebSocket got a message that was not sent")
		}
		ended <- time.Since(began)
	}()
	go func() {
		_, _ = io.Copy(io.Discard, bodies["limited"])
		ended <- time.Since(began)
	}()
	for range 2 {
		if took := harness.Await(t, ended, "the end of a stream"); took < limit {
			t.Errorf("a stream to a removed endpoint ended after %v, before its %v were over", took, limit)
		}
	}
	p.awaitCount("limited", "cut", 1)
	converse(t, sockets["unlimited"])
	buffer := make([]byte, 64)
	if _, err := io.ReadFull(bodies["unlimited"], buffer); err != nil {
		t.Errorf("the stream without a limit: %v", err)
	}
}

// open opens a stream of events.
func open(t *testing.T, client *harness.Client) io.ReadCloser {
	t.Helper()
	client.Timeout = 0
	response, err := client.Do(client.Request(http.MethodGet, "/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response.Body
}

// converse checks that a WebSocket works.
func converse(t *testing.T, connection *websocket.Conn) {
	t.Helper()
	if err := connection.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatalf("websocket: %v", err)
	}
	if _, got, err := connection.Read(t.Context()); err != nil || string(got) != "hello" {
		t.Fatalf("websocket: got %q, %v", got, err)
	}
}

// TestIdleConnections gives an endpoint weight 0, and removes another one: idle connections to both are closed, and
// those to the third are kept.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 3)
	p := startProxy(t, site{"pool": pool("", servers(fleet...)...)})
	p.burst(plan{service: "pool"}, 300, 12)
	before := fleet[2].open.Load()
	for _, e := range fleet {
		if e.open.Load() == 0 {
			t.Fatalf("no connection to %s is kept", e.name)
		}
	}
	p.change(site{"pool": pool("", fleet[0].weighing(0), fleet[2].server())})
	for _, e := range fleet[:2] {
		until(t, "all connections to "+e.name+" are closed", func() bool { return e.open.Load() == 0 })
	}
	if now := fleet[2].open.Load(); now < before {
		t.Errorf("of %d connections to an endpoint that stays %d are left", before, now)
	}
}
