package entrypoint_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/static"
)

// TestHTTP3WebSocketThatIsNone has a handler answer an extended CONNECT as a GET: 200 would open the tunnel. The record
// has the status that was sent.
func TestHTTP3WebSocketThatIsNone(t *testing.T) {
	t.Parallel()
	s, response, _ := askForWebSocket(t, hello)
	if response.StatusCode != http.StatusNotImplemented {
		t.Errorf("the response is %v", response)
	}
	if record := s.record(); record.Status != http.StatusNotImplemented || record.Protocol != "websocket" {
		t.Errorf("record %+v", record)
	}
}

// TestHTTP3WebSocketOfPanic has a handler panic that has opened a WebSocket: the stream must not end in order, and
// nothing else is sent on it.
func TestHTTP3WebSocketOfPanic(t *testing.T) {
	t.Parallel()
	_, response, stream := askForWebSocket(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := w.Write([]byte("a")); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("Write: %v", err)
		}
		if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("Flush: %v", err)
		}
		if err := httpio.UpgradeWriterOf(conn).WriteUpgrade(http.Header{}); err != nil {
			t.Error(err)
		}
		_, _ = conn.Read(make([]byte, 1)) // The client has the response then.
		panic("a handler's")
	})
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the response is %v", response)
	}
	_, _ = stream.Write([]byte("a"))
	rest, err := io.ReadAll(stream)
	if failed, ok := errors.AsType[*http3.Error](err); !ok || !failed.Remote || len(rest) > 0 {
		t.Errorf("the stream ended with %q, %v", rest, err)
	}
}

// askForWebSocket sends an extended CONNECT, and returns the head of the response.
func askForWebSocket(t *testing.T, handler http.HandlerFunc) (*served, *http.Response, *http3.RequestStream) {
	t.Helper()
	s := start(t, handler, func(c *static.EntryPoint) { c.HTTP3.ExtendedConnect = true })
	conn, err := quic.DialAddr(t.Context(), s.address, &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}, //nolint:gosec // It is generated.
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseWithError(0, "") })
	stream, err := new(http3.Transport).NewClientConn(conn).OpenRequestStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendRequestHeader(&http.Request{
		Method: http.MethodConnect, Proto: "websocket", Host: s.address, Header: http.Header{},
		URL: &url.URL{Scheme: "https", Host: s.address, Path: "/"},
	}); err != nil {
		t.Fatal(err)
	}
	response, err := stream.ReadResponse()
	if err != nil {
		t.Fatal(err)
	}
	return s, response, stream
}
