package h3_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/sluiceproxy/sluice/entrypoint/h3"
	"github.com/sluiceproxy/sluice/httpio"
)

// openTunnel opens a WebSocket (RFC 9220) at a server whose handler takes over the stream.
func openTunnel(t *testing.T, handler func(conn net.Conn)) (*served, *http3.RequestStream) {
	t.Helper()
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Upgrade") != "websocket" || r.URL.Path != "/chat" {
			t.Errorf("the request is %+v", r)
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		header := w.Header()
		header["X-Endpoint"], header["Upgrade"] = []string{"1"}, []string{"a"}
		if err := httpio.UpgradeWriterOf(conn).WriteUpgrade(header); err != nil {
			t.Error(err)
		}
		handler(conn)
	}, func(c *h3.Config) { c.ExtendedConnect = true })
	stream, response := connect(t, s)
	h := response.Header
	if response.StatusCode != http.StatusOK || h.Get("X-Endpoint") != "1" || h.Get("Upgrade") != "" {
		t.Fatalf("got %d, %v", response.StatusCode, h)
	}
	return s, stream
}

// connect sends the extended CONNECT of a WebSocket, and reads the head of the response.
func connect(t *testing.T, s *served) (*http3.RequestStream, *http.Response) {
	t.Helper()
	conn, err := quic.DialAddr(t.Context(), strings.TrimPrefix(s.url, "https://"), &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}, //nolint:gosec // It is generated.
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "") })
	stream, err := new(http3.Transport).NewClientConn(conn).OpenRequestStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodConnect, s.url+"/chat", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Proto = "websocket"
	if err := stream.SendRequestHeader(r); err != nil {
		t.Fatal(err)
	}
	response, err := stream.ReadResponse()
	if err != nil {
		t.Fatal(err)
	}
	return stream, response
}

// TestUnopenedTunnel has handlers answer as if the request was a GET.
func TestUnopenedTunnel(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"a page":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") },
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"a status": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, handler, func(c *h3.Config) { c.ExtendedConnect = true })
			if _, response := connect(t, s); response.StatusCode != http.StatusNotImplemented {
				t.Errorf("the status is %d", response.StatusCode)
			}
		})
	}
}

// TestTunnelCarriesBothWays echoes more than the windows hold, and ends both directions one after the other.
func TestTunnelCarriesBothWays(t *testing.T) {
	t.Parallel()
	_, stream := openTunnel(t, func(conn net.Conn) {
		if _, err := io.Copy(conn, conn); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(conn, "after the end")
		if err := httpio.CloseWrite(conn); err != nil {
			t.Error(err)
		}
	})
	sent := strings.Repeat("0123456789", 100_000)
	go func() {
		_, _ = io.WriteString(stream, sent)
		_ = stream.Close()
	}()
	got, err := io.ReadAll(stream)
	if want := sent + "after the end"; string(got) != want || err != nil {
		t.Errorf("%d bytes came back of %d, error %v", len(got), len(want), err)
	}
}

// TestTunnelEnds has each side end the stream before the other.
func TestTunnelEnds(t *testing.T) {
	t.Parallel()
	cancelled := quic.StreamErrorCode(http3.ErrCodeRequestCanceled)
	code := func(t *testing.T, err error) http3.ErrCode {
		t.Helper()
		failed, ok := errors.AsType[*http3.Error](err)
		if !ok {
			t.Errorf("the stream ended by %v", err)
			return 0
		}
		return failed.ErrorCode
	}
	for name, c := range map[string]struct {
		handler func(t *testing.T, conn net.Conn)
		client  func(t *testing.T, stream *http3.RequestStream)
	}{
		"reset by the client": {
			handler: func(t *testing.T, conn net.Conn) {
				t.Helper()
				if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("reading failed by %v", err)
				}
			},
			client: func(_ *testing.T, stream *http3.RequestStream) { stream.CancelWrite(cancelled) },
		},
		"not read by the client": {
			handler: func(t *testing.T, conn net.Conn) {
				t.Helper()
				var err error
				for err == nil {
					_, err = conn.Write(make([]byte, 32<<10))
				}
				if !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("writing failed by %v", err)
				}
			},
			client: func(_ *testing.T, stream *http3.RequestStream) { stream.CancelRead(cancelled) },
		},
		"reset by the handler": {
			handler: func(_ *testing.T, conn net.Conn) {
				_, _ = conn.Read(make([]byte, 1)) // The client has the response then.
				_ = httpio.Reset(conn)
			},
			client: func(t *testing.T, stream *http3.RequestStream) {
				t.Helper()
				_, _ = stream.Write([]byte("a"))
				if _, err := stream.Read(make([]byte, 1)); code(t, err) != http3.ErrCodeRequestCanceled {
					t.Errorf("the stream ended by %v", err)
				}
			},
		},
		"the handler returns": {
			handler: func(_ *testing.T, conn net.Conn) { _, _ = io.WriteString(conn, "last") },
			client: func(t *testing.T, stream *http3.RequestStream) {
				t.Helper()
				if got, err := io.ReadAll(stream); string(got) != "last" || err != nil {
					t.Errorf("got %q, error %v", got, err)
				}
			},
		},
		"the handler panics": {
			handler: func(_ *testing.T, conn net.Conn) {
				_, _ = conn.Read(make([]byte, 1))
				panic(http.ErrAbortHandler)
			},
			client: func(t *testing.T, stream *http3.RequestStream) {
				t.Helper()
				_, _ = stream.Write([]byte("a"))
				if _, err := stream.Read(make([]byte, 1)); code(t, err) != http3.ErrCodeRequestCanceled {
					t.Errorf("the stream ended by %v", err)
				}
			},
		},
		"closed while it writes": {
			handler: func(t *testing.T, conn net.Conn) {
				t.Helper()
				ended := make(chan error, 1)
				go func() {
					var err error
					for err == nil { // Until no window is left.
						_, err = conn.Write(make([]byte, 32<<10))
					}
					ended <- err
				}()
				if _, err := conn.Read(make([]byte, 1)); err != nil {
					t.Error(err)
				}
				_ = conn.Close()
				_ = await(t, ended, "the end of the write")
			},
			client: func(t *testing.T, stream *http3.RequestStream) {
				t.Helper()
				if _, err := stream.Write([]byte("a")); err != nil {
					t.Error(err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan struct{})
			_, stream := openTunnel(t, func(conn net.Conn) {
				defer close(done)
				c.handler(t, conn)
			})
			c.client(t, stream)
			await(t, done, "the end of the handler")
		})
	}
}

// TestTunnelEndsWithTheServer cuts a tunnel that goes on.
func TestTunnelEndsWithTheServer(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s, stream := openTunnel(t, func(conn net.Conn) {
		_, err := io.Copy(conn, conn)
		ended <- err
	})
	if _, err := io.WriteString(stream, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stream, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if err := await(t, ended, "the end of the tunnel"); err == nil {
		t.Error("the tunnel has ended in order")
	}
}

// TestRetireLeavesTunnels sends GOAWAY to a client with a WebSocket, and counts its connection as none that ends.
func TestRetireLeavesTunnels(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s, stream := openTunnel(t, func(conn net.Conn) {
		defer close(done)
		_, _ = io.Copy(conn, conn)
	})
	all := func(net.Conn) bool { return true }
	if closed, closing := s.Retire(all); closed != 0 || closing != 0 {
		t.Errorf("%d are closed, and %d end with a response", closed, closing)
	}
	if _, err := io.WriteString(stream, "ping"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(stream, got); err != nil || string(got) != "ping" {
		t.Errorf("got %q, %v", got, err)
	}
	_ = stream.Close()
	await(t, done, "the end of the handler")
	await(t, s.closed, "the end of the connection")
	s.closed <- struct{}{}
}
