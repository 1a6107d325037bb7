package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/server"
	"github.com/sluiceproxy/sluice/httpio"
)

// fieldsSeer and fieldsWriter are what entrypoint and forward use of the writer.
type (
	fieldsSeer interface {
		Seen() (hopByHop, extended bool)
	}
	fieldsWriter interface {
		WriteFields(status int, fields []wire.Field)
	}
)

// takeOver hijacks the stream of a WebSocket, and answers.
func takeOver(t *testing.T, w http.ResponseWriter) (net.Conn, *bufio.ReadWriter) {
	t.Helper()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return nil, nil
	}
	header := http.Header{"X-Endpoint": {"1"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	if err := httpio.UpgradeWriterOf(conn).WriteUpgrade(header); err != nil {
		t.Error(err)
	}
	return conn, buffered
}

// tunnels serves extended CONNECT with a handler that has taken over the stream.
func tunnels(t *testing.T, handler func(conn net.Conn)) *rig {
	t.Helper()
	return newRig(t, &server.Server{ExtendedConnect: true, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			if conn, _ := takeOver(t, w); conn != nil {
				handler(conn)
			}
		})})
}

// connect sends an extended CONNECT.
func (p *peer) connect(id uint32, end bool, fields ...string) {
	p.t.Helper()
	p.request(id, "CONNECT", "/chat?room=1", end, append([]string{":protocol: websocket"}, fields...)...)
}

// TestExtendedConnectIsAGet shows what handlers see of a WebSocket.
func TestExtendedConnectIsAGet(t *testing.T) {
	t.Parallel()
	g := newRig(t, &server.Server{ExtendedConnect: true, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			h := r.Header
			if r.Method != http.MethodGet || r.RequestURI != "/chat?room=1" || r.URL.Path != "/chat" || r.Host != "a" ||
				r.Body != http.NoBody || r.ContentLength != 0 || r.Trailer != nil || r.ProtoMajor != 2 {
				t.Errorf("the request is %+v", r)
			}
			if h.Get("Upgrade") != "websocket" || h.Get("Connection") != "Upgrade" ||
				len(h["Sec-Websocket-Key"]) != 1 || h.Get("Sec-Websocket-Key") == "mine" ||
				h.Get("Sec-Websocket-Version") != "13" || h.Get("Sec-Websocket-Protocol") != "chat" {
				t.Errorf("the fields are %v", h)
			}
			if hopByHop, _ := w.(fieldsSeer).Seen(); !hopByHop {
				t.Error("the fields of the connection are not announced")
			}
			w.WriteHeader(http.StatusForbidden)
		})})
	p := g.peer()
	p.flush()
	frame, err := p.ReadFrame()
	p.must(err)
	settings, _ := frame.(*http2.SettingsFrame)
	if settings == nil {
		t.Fatalf("got %v", frame)
	}
	if value, ok := settings.Value(http2.SettingEnableConnectProtocol); !ok || value != 1 {
		t.Error("no SETTINGS_ENABLE_CONNECT_PROTOCOL")
	}
	p.connect(1, false, "sec-websocket-version: 13", "sec-websocket-protocol: chat", "sec-websocket-key: mine")
	p.status(1, "403")
	p.reset(1, http2.ErrCodeNo)
}

// TestExtendedConnectIsRefused has requests with :protocol that are malformed, or ask for what there is not.
func TestExtendedConnectIsRefused(t *testing.T) {
	t.Parallel()
	web := []string{":method: CONNECT", ":scheme: http", ":authority: a", ":path: /", ":protocol: websocket"}
	for name, c := range map[string]struct {
		off    bool
		fields []string
		status string
	}{
		"off":            {off: true, fields: web},
		"another method": {fields: append([]string{":method: GET"}, web[1:]...)},
		"no path":        {fields: []string{web[0], web[1], web[2], web[4]}},
		"no scheme":      {fields: []string{web[0], web[2], web[3], web[4]}},
		"no authority":   {fields: []string{web[0], web[1], web[3], web[4]}},
		"no token":       {fields: append(web[:4:4], ":protocol: web socket")},
		"repeated":       {fields: append(web[:5:5], ":protocol: websocket")},
		"behind others":  {fields: append(web[:4:4], "a: b", ":protocol: websocket")},
		"length":         {fields: append(web[:5:5], "content-length: 0")},
		"upgrade":        {fields: append(web[:5:5], "upgrade: websocket")},
		"other protocol": {fields: append(web[:4:4], ":protocol: connect-udp"), status: "501"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, &server.Server{ExtendedConnect: !c.off, Handler: http.HandlerFunc(
				func(http.ResponseWriter, *http.Request) { t.Error("the handler is called") })})
			p := g.peer()
			p.must(p.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: p.head(c.fields...), EndHeaders: true, EndStream: true,
			}))
			if c.status != "" {
				p.status(1, c.status)
				return
			}
			p.reset(1, http2.ErrCodeProtocol)
		})
	}
}

// TestUnopenedTunnel has handlers answer as if the request was a GET.
func TestUnopenedTunnel(t *testing.T) {
	t.Parallel()
	status := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for name, c := range map[string]struct {
		handler      http.HandlerFunc
		status, body string
	}{
		"a page":     {handler: hello, status: "501", body: "hello"},
		"nothing":    {handler: func(http.ResponseWriter, *http.Request) {}, status: "501"},
		"no content": {handler: status(http.StatusNoContent), status: "501"},
		"a list": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.(fieldsWriter).WriteFields(http.StatusOK, []wire.Field{{Name: "Content-Length", Value: "5"}})
			_, _ = io.WriteString(w, "hello")
		}, status: "501", body: "hello"},
		"a redirect": {handler: status(http.StatusFound), status: "302"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newRig(t, &server.Server{ExtendedConnect: true, Handler: c.handler}).peer()
			p.connect(1, false)
			if head := p.status(1, c.status); !head.StreamEnded() {
				p.data(1, c.body, true)
			}
			p.reset(1, http2.ErrCodeNo)
		})
	}
}

// TestTunnelCarriesBothWays echoes, and ends both directions one after the other.
func TestTunnelCarriesBothWays(t *testing.T) {
	t.Parallel()
	g := tunnels(t, func(conn net.Conn) {
		if _, err := io.Copy(conn, conn); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(conn, "after the end")
		if err := httpio.CloseWrite(conn); err != nil {
			t.Error(err)
		}
		if _, err := conn.Write([]byte("late")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("writing after the end: %v", err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	p := g.peer()
	p.connect(1, false)
	if head := p.status(1, "200"); head.StreamEnded() {
		t.Error("the stream has ended")
	} else {
		for _, field := range head.RegularFields() {
			if field.Name == "connection" || field.Name == "upgrade" || field.Name == "content-length" {
				t.Errorf("the response has %s", field.Name)
			}
		}
	}
	for range 3 {
		p.must(p.WriteData(1, false, []byte("echo")))
		p.data(1, "echo", false)
	}
	p.must(p.WriteData(1, true, []byte("end")))
	p.data(1, "end", false)
	p.data(1, "after the end", false)
	p.data(1, "", true)
	p.must(p.WritePing(false, [8]byte{1}))
	if ping := expect[*http2.PingFrame](p); !ping.IsAck() {
		t.Error("no answer")
	}
}

// TestTunnelEnds has each side end the stream before the other.
func TestTunnelEnds(t *testing.T) {
	t.Parallel()
	awaitReset := func(t *testing.T, read func([]byte) (int, error)) {
		t.Helper()
		if _, err := read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("reading failed by %v", err)
		}
	}
	for name, c := range map[string]struct {
		handler func(t *testing.T, conn net.Conn)
		client  func(t *testing.T, p *peer)
	}{
		"reset by the client": {
			handler: func(t *testing.T, conn net.Conn) {
				t.Helper()
				awaitReset(t, conn.Read)
				if _, err := conn.Write([]byte("a")); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("writing failed by %v", err)
				}
			},
			client: func(_ *testing.T, p *peer) { p.must(p.WriteRSTStream(1, http2.ErrCodeCancel)) },
		},
		"loss of the connection": {
			handler: func(t *testing.T, conn net.Conn) {
				t.Helper()
				awaitReset(t, conn.Read)
			},
			client: func(_ *testing.T, p *peer) {
				p.flush()
				_ = p.conn.Close()
			},
		},
		"reset by the handler": {
			handler: func(_ *testing.T, conn net.Conn) { _ = httpio.Reset(conn) },
			client:  func(_ *testing.T, p *peer) { p.reset(1, http2.ErrCodeCancel) },
		},
		"closed by the handler": {
			handler: func(_ *testing.T, conn net.Conn) { _ = conn.Close() },
			client: func(_ *testing.T, p *peer) {
				p.data(1, "", true)
				p.reset(1, http2.ErrCodeNo)
			},
		},
		"the handler returns": {
			handler: func(_ *testing.T, conn net.Conn) { _, _ = io.WriteString(conn, "last") },
			client: func(_ *testing.T, p *peer) {
				p.data(1, "last", false)
				p.data(1, "", true)
				p.reset(1, http2.ErrCodeNo)
			},
		},
		"trailers": {
			handler: func(t *testing.T, conn net.Conn) {
				t.Helper()
				if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
					t.Errorf("reading ended by %v", err)
				}
			},
			client: func(_ *testing.T, p *peer) {
				p.must(p.WriteHeaders(http2.HeadersFrameParam{
					StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: p.head("a: b"),
				}))
				p.reset(1, http2.ErrCodeProtocol)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan struct{})
			g := tunnels(t, func(conn net.Conn) {
				defer close(done)
				c.handler(t, conn)
			})
			p := g.peer()
			p.connect(1, false)
			p.status(1, "200")
			c.client(t, p)
			if name != "loss of the connection" {
				p.flush()
			}
			await(t, done, "the end of the handler")
		})
	}
}

// TestTunnelWaitsForWindows has a client that gives no window: the handler waits, without memory for what it may not
// send, until the client reads, or until another goroutine closes the stream.
func TestTunnelWaitsForWindows(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, closed := range map[string]bool{"granted": false, "closed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conns, ended := make(chan net.Conn, 1), make(chan error, 1)
			g := tunnels(t, func(conn net.Conn) {
				conns <- conn
				_, err := conn.Write(make([]byte, size))
				ended <- err
			})
			p := g.peer(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
			p.connect(1, false)
			p.status(1, "200")
			p.data(1, string(make([]byte, 10)), false)
			conn := await(t, conns, "the connection")
			if closed {
				_ = conn.Close()
				p.reset(1, http2.ErrCodeCancel)
				if err := await(t, ended, "the end of the write"); !errors.Is(err, net.ErrClosed) {
					t.Errorf("the write ended by %v", err)
				}
				return
			}
			p.must(p.WriteWindowUpdate(0, size))
			p.must(p.WriteWindowUpdate(1, size))
			for left := size - 10; left > 0; {
				left -= len(expect[*http2.DataFrame](p).Data())
			}
			if err := await(t, ended, "the end of the write"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTunnelGrantsWindows uploads more than the windows hold to a handler that reads.
func TestTunnelGrantsWindows(t *testing.T) {
	t.Parallel()
	const pieces, piece = 64, 16 << 10
	g := tunnels(t, func(conn net.Conn) {
		if n, err := io.Copy(io.Discard, conn); n != pieces*piece || err != nil {
			t.Errorf("%d bytes, error %v", n, err)
		}
	})
	p := g.peer()
	p.connect(1, false)
	p.status(1, "200")
	left := server.StreamWindow
	for i := range pieces {
		for left < piece {
			p.flush()
			frame, err := p.ReadFrame()
			p.must(err)
			if f, ok := frame.(*http2.WindowUpdateFrame); ok && f.StreamID == 1 {
				left += int(f.Increment)
			}
		}
		p.must(p.WriteData(1, i == pieces-1, bytes.Repeat([]byte{1}, piece)))
		left -= piece
	}
	p.flush()
	if code, _ := p.endOf(1); code != http2.ErrCodeNo {
		t.Errorf("the stream ended by %v", code)
	}
}

// endOf reads until a stream has ended, and returns the code of RST_STREAM, or NO_ERROR.
func (p *peer) endOf(id uint32) (http2.ErrCode, error) {
	for {
		switch f := p.next().(type) {
		case *http2.RSTStreamFrame:
			return f.ErrCode, nil
		case *http2.DataFrame:
			if f.StreamID == id && f.StreamEnded() {
				return http2.ErrCodeNo, nil
			}
		}
	}
}

// TestTunnelAndDrain lets a tunnel go on after GOAWAY, until the server is closed.
func TestTunnelAndDrain(t *testing.T) {
	t.Parallel()
	over := make(chan error, 1)
	g := tunnels(t, func(conn net.Conn) {
		_, err := io.Copy(conn, conn)
		over <- err
	})
	p := g.peer()
	p.connect(1, false)
	p.status(1, "200")
	ctx, cancel := context.WithCancel(t.Context())
	drained := make(chan error, 1)
	go func() { drained <- g.server.Shutdown(ctx) }()
	expect[*http2.GoAwayFrame](p)
	ping := expect[*http2.PingFrame](p)
	p.must(p.WritePing(true, ping.Data))
	if away := expect[*http2.GoAwayFrame](p); away.LastStreamID != 1 {
		t.Errorf("the last stream is %d", away.LastStreamID)
	}
	p.must(p.WriteData(1, false, []byte("still")))
	p.data(1, "still", false)
	cancel()
	if err := await(t, drained, "the end of the drain"); !errors.Is(err, context.Canceled) {
		t.Errorf("the drain ended by %v", err)
	}
	if err := g.server.Close(); err != nil {
		t.Error(err)
	}
	if err := await(t, over, "the end of the handler"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the tunnel ended by %v", err)
	}
}

// TestHijackOfOthers fails without harm.
func TestHijackOfOthers(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Hijack: %v", err)
		}
		hello(w, r)
	})
	if status, body := g.get(g.client(), "/"); status != http.StatusOK || body != "hello" {
		t.Errorf("got %d %q", status, body)
	}
}

// await waits for a channel.
func await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(http1test.Timeout)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// TestRetireLeavesTunnels sends GOAWAY to a client with a WebSocket, and counts its connection as none that ends.
func TestRetireLeavesTunnels(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	g := tunnels(t, func(conn net.Conn) {
		close(begun)
		_, _ = io.Copy(conn, conn)
	})
	p := g.peer()
	p.connect(1, false)
	p.status(1, "200")
	<-begun
	all := func(net.Conn) bool { return true }
	if closed, closing := g.server.Retire(all); closed != 0 || closing != 0 {
		t.Errorf("%d are closed, and %d end with a response", closed, closing)
	}
	if last := expect[*http2.GoAwayFrame](p).LastStreamID; last < 1 {
		t.Errorf("GOAWAY refuses stream %d", last+1)
	}
	expect[*http2.PingFrame](p)
	p.must(p.WriteData(1, false, []byte("ping")))
	p.flush()
	p.data(1, "ping", false)
	p.must(p.WriteData(1, true, nil))
	p.flush()
}
