package start

import (
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const lifeCycle = `, transport: {lifeCycle: {requestAcceptGraceTimeout: 3s, graceTimeOut: 60s}}`

// TestDrain sends SIGTERM while a request and a WebSocket are in flight. New connections are accepted for some seconds,
// while /ping reports the shutdown; then they are refused, and those in flight complete.
func TestDrain(t *testing.T) {
	t.Parallel()
	backend := harness.StartBackend(t, "one", nil)
	s := startWith(t, backend, lifeCycle, lifeCycle, harness.Setup{})
	web, internal := s.Addr("web"), s.Addr("traefik")
	stream := backend.Stream("request")
	answered := make(chan harness.Response, 1)
	slow := harness.NewClient(t, harness.H1, web, "any.test", nil)
	go func() {
		got, err := slow.Try(slow.Request(http.MethodGet, "/hang?id=request", nil))
		if err != nil {
			t.Errorf("the request under way: %v", err)
		}
		answered <- got
	}()
	harness.Await(t, stream.Begun, "the request begins")
	socket := harness.NewClient(t, harness.H1, web, "any.test", nil).WebSocket("/websocket")

	s.Signal(syscall.SIGTERM)
	s.WaitLog("stopping")
	if got := harness.NewClient(t, harness.H1, internal, "any.test", nil).Get("/ping"); got.StatusCode != http.StatusGone {
		t.Errorf("/ping while stopping: status %d, want 410", got.StatusCode)
	}
	if got := s.Readiness(); got.Status != http.StatusGone || !got.Draining || got.Ready {
		t.Errorf("/ready while stopping: %+v", got)
	}
	for _, protocol := range []harness.Protocol{harness.H1, harness.H2C} {
		if got := harness.NewClient(t, protocol, web, "any.test", nil).Get("/"); got.StatusCode != http.StatusOK {
			t.Errorf("a new connection while stopping: status %d", got.StatusCode)
		}
	}
	awaitRefused(t, web)
	if err := socket.Write(t.Context(), websocket.MessageText, []byte("still here")); err != nil {
		t.Errorf("websocket: %v", err)
	}
	if _, got, err := socket.Read(t.Context()); err != nil || string(got) != "still here" {
		t.Errorf("websocket: %q, %v", got, err)
	}
	if err := socket.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("websocket: %v", err)
	}
	select {
	case <-s.Ended():
		t.Error("the process ended before its last request")
	default:
	}
	close(stream.Events)
	if got := harness.Await(t, answered, "the answer"); got.StatusCode != http.StatusOK || got.Text != "late" {
		t.Errorf("the request under way: status %d, %q", got.StatusCode, got.Text)
	}
	if code := s.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// awaitRefused dials until connections are refused.
func awaitRefused(t *testing.T, address string) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 1000 {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return
		}
		_ = connection.Close()
		<-ticker.C
	}
	t.Fatal("connections are accepted for ever")
}

// TestDrainEnds cuts what does not finish within graceTimeOut, and ends with exit code 0.
func TestDrainEnds(t *testing.T) {
	t.Parallel()
	backend := harness.StartBackend(t, "one", nil)
	s := startWith(t, backend, `, transport: {lifeCycle: {graceTimeOut: 300ms}}`, "", harness.Setup{})
	stream := backend.Stream("request")
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	failed := make(chan error, 1)
	go func() {
		_, err := client.Try(client.Request(http.MethodGet, "/hang?id=request", nil))
		failed <- err
	}()
	harness.Await(t, stream.Begun, "the request begins")
	s.Signal(syscall.SIGTERM)
	if err := harness.Await(t, failed, "the request is cut"); err == nil {
		t.Error("the request was answered")
	}
	harness.Await(t, stream.Gone, "the endpoint notices")
	if code := s.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
