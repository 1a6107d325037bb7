package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/server"
)

// rig is a Server on a loopback listener, whose recycled memory is poisoned.
type rig struct {
	*http1test.Rig
	t      testing.TB
	server *server.Server
	// failed gets why connections have ended by a fault of their client.
	failed chan server.Failure
}

// newRig serves until the test ends.
func newRig(t testing.TB, s *server.Server) *rig {
	t.Helper()
	server.Poison(s)
	g := &rig{t: t, server: s, failed: make(chan server.Failure, 100)}
	s.Failed = func(_ net.Conn, why server.Failure) {
		t.Logf("%s, %s: %s", why.Cause, why.Code, why.Reason)
		g.failed <- why
	}
	g.Rig = http1test.Serve(t, s, nil)
	return g
}

// serve is newRig for a handler.
func serve(t testing.TB, handler http.HandlerFunc) *rig {
	t.Helper()
	return newRig(t, &server.Server{Handler: handler})
}

// client returns an honest client of the server, that of net/http.
func (g *rig) client() *http.Client {
	transport := &http.Transport{
		Protocols: new(http.Protocols),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", g.Address)
		},
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	g.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: http1test.Timeout}
}

// get sends a request with an honest client and returns the status and the body.
func (g *rig) get(client *http.Client, path string) (status int, body string) {
	g.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+g.Address+path, nil)
	if err != nil {
		g.t.Error(err)
		return 0, ""
	}
	return do(g.t, client, r)
}

func do(t testing.TB, client *http.Client, r *http.Request) (status int, body string) {
	t.Helper()
	response, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close() //nolint:errcheck // a test's
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(text)
}

// peer is a client that a test plays itself, frame by frame. What it writes is sent by flush, and before it reads.
type peer struct {
	*http2.Framer
	t       testing.TB
	conn    net.Conn
	writer  *bufio.Writer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

// newPeer begins a connection with settings.
func newPeer(t testing.TB, conn net.Conn, settings ...http2.Setting) *peer {
	t.Helper()
	p := &peer{t: t, conn: conn, writer: bufio.NewWriter(conn)}
	p.Framer = http2.NewFramer(p.writer, conn)
	p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.AllowIllegalWrites = true
	p.encoder = hpack.NewEncoder(&p.block)
	_, _ = p.writer.WriteString(http2.ClientPreface)
	p.must(p.WriteSettings(settings...))
	return p
}

// peer dials and begins a connection.
func (g *rig) peer(settings ...http2.Setting) *peer {
	g.t.Helper()
	return newPeer(g.t, g.Dial(), settings...)
}

func (p *peer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) flush() {
	p.t.Helper()
	p.must(p.writer.Flush())
}

// head compresses fields, which are written as "name: value".
func (p *peer) head(fields ...string) []byte {
	p.block.Reset()
	for _, field := range fields {
		at := strings.Index(field[1:], ":") + 1
		_ = p.encoder.WriteField(hpack.HeaderField{Name: field[:at], Value: strings.TrimPrefix(field[at+1:], " ")})
	}
	return p.block.Bytes()
}

// open sends HEADERS with a request and other fields.
func (p *peer) open(id uint32, method, path string, end bool, fields ...string) error {
	pseudo := []string{":method: " + method, ":scheme: http", ":authority: a", ":path: " + path}
	return p.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: p.head(append(pseudo, fields...)...), EndHeaders: true, EndStream: end,
	})
}

// request is open for a test that goes on only if it can be sent.
func (p *peer) request(id uint32, method, path string, end bool, fields ...string) {
	p.t.Helper()
	p.must(p.open(id, method, path, end, fields...))
}

// next reads a frame other than SETTINGS and the WINDOW_UPDATE of the connection.
func (p *peer) next() http2.Frame {
	p.t.Helper()
	p.flush()
	for {
		frame, err := p.ReadFrame()
		p.must(err)
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			continue
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				continue
			}
		}
		return frame
	}
}

// expect reads a frame of a type.
func expect[F http2.Frame](p *peer) F {
	p.t.Helper()
	frame := p.next()
	f, ok := frame.(F)
	if !ok {
		p.t.Fatalf("got %v", frame)
	}
	return f
}

// status reads the head of a response.
func (p *peer) status(id uint32, want string) *http2.MetaHeadersFrame {
	p.t.Helper()
	f := expect[*http2.MetaHeadersFrame](p)
	if f.StreamID != id || f.PseudoValue("status") != want {
		p.t.Fatalf("got the head %v of the stream %d", f.Fields, f.StreamID)
	}
	return f
}

// data reads a DATA frame.
func (p *peer) data(id uint32, want string, end bool) {
	p.t.Helper()
	f := expect[*http2.DataFrame](p)
	if f.StreamID != id || string(f.Data()) != want || f.StreamEnded() != end {
		p.t.Fatalf("got %v with %d bytes", f, len(f.Data()))
	}
}

// reset reads RST_STREAM.
func (p *peer) reset(id uint32, want http2.ErrCode) {
	p.t.Helper()
	if f := expect[*http2.RSTStreamFrame](p); f.StreamID != id || f.ErrCode != want {
		p.t.Fatalf("got %v %v", f, f.ErrCode)
	}
}

// away reads until the connection ends, and returns the code of the last GOAWAY; came is false without one.
func (p *peer) away() (code http2.ErrCode, came bool) {
	for {
		frame, err := p.ReadFrame()
		if err != nil {
			if !errors.As(err, new(http2.StreamError)) {
				return code, came
			}
			continue
		}
		if f, ok := frame.(*http2.GoAwayFrame); ok {
			code, came = f.ErrCode, true
		}
	}
}

// pipe serves a connection in memory.
func pipe(s *server.Server) (client net.Conn, over <-chan time.Time) {
	client, conn := net.Pipe()
	ended := make(chan time.Time, 1)
	go func() {
		s.ServeConn(context.Background(), conn)
		ended <- time.Now()
		close(ended)
	}()
	return client, ended
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }
