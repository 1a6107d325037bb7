package client_test

import (
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

	http1 "github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/client"
)

// rig is an Upstream whose endpoint is played by the test. Recycled memory is poisoned.
type rig struct {
	t         testing.TB
	resources client.Resources
	upstream  *client.Upstream
	// conns gets the endpoint's end of each connection.
	conns chan net.Conn
	// dial makes a connection to a server that is not played.
	dial func(context.Context) (net.Conn, error)
}

// newRig connects in memory.
func newRig(t testing.TB, config client.Config) *rig {
	t.Helper()
	return rigOf(t, config, func(context.Context) (near, far net.Conn, err error) {
		near, far = net.Pipe()
		return near, far, nil
	})
}

// newSocketRig connects by loopback, with small buffers.
func newSocketRig(t testing.TB, config client.Config) *rig {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return rigOf(t, config, func(ctx context.Context) (near, far net.Conn, err error) {
		if near, err = new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String()); err == nil {
			far, err = listener.Accept()
		}
		if err == nil {
			_ = near.(*net.TCPConn).SetWriteBuffer(64 << 10)
			_ = far.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return near, far, err
	})
}

func rigOf(t testing.TB, config client.Config, connect func(context.Context) (near, far net.Conn, err error)) *rig {
	g := &rig{t: t, conns: make(chan net.Conn, 100)}
	if config.Dial == nil {
		config.Dial = func(ctx context.Context) (net.Conn, error) {
			near, far, err := connect(ctx)
			if err == nil {
				t.Cleanup(func() { _ = far.Close() })
				g.conns <- far
			}
			return near, err
		}
	}
	client.Poison(&g.resources)
	g.upstream = g.resources.NewUpstream(&config)
	t.Cleanup(g.upstream.Close)
	return g
}

// accept begins the next connection as an endpoint with settings.
func (g *rig) accept(settings ...http2.Setting) *peer {
	g.t.Helper()
	conn := http1test.Receive(g.t, g.conns, "a connection")
	p := &peer{t: g.t, conn: conn}
	p.Framer = http2.NewFramer(conn, conn)
	p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.AllowIllegalWrites = true
	p.encoder = hpack.NewEncoder(&p.block)
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil || string(preface) != http2.ClientPreface {
		g.t.Fatalf("the preface: %q, %v", preface, err)
	}
	p.must(p.WriteSettings(settings...))
	return p
}

// open is accept for a connection that has served the stream 1.
func (g *rig) open(settings ...http2.Setting) *peer {
	g.t.Helper()
	got := g.get("/")
	p := g.accept(settings...)
	p.request(1)
	p.head(1, true, ":status: 200")
	wait(g.t, got).want(g.t, 200, "")
	return p
}

// answer is what became of a request.
type answer struct {
	status  int
	header  http.Header
	body    string
	trailer http.Header
	length  int64
	// head is the error of Do, err that of the body.
	head, err error
	trip      *client.RoundTrip
}

// request makes a request of "METHOD /path".
func request(ctx context.Context, line string, body io.Reader) *http.Request {
	method, path, _ := strings.Cut(line, " ")
	r, err := http.NewRequestWithContext(ctx, method, "http://example.com"+path, body)
	if err != nil {
		panic(err)
	}
	return r
}

// streamed hides the type of a body, so that it is not at hand.
func streamed(r io.Reader) io.Reader { return struct{ io.Reader }{r} }

// send sends a request and reads the response, on another goroutine.
func (g *rig) send(r *http.Request) <-chan answer { return g.sendWith(http1.Options{}, r) }

func (g *rig) sendWith(options http1.Options, r *http.Request) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		a := answer{trip: &client.RoundTrip{Options: options}}
		defer func() { got <- a }()
		response, err := g.upstream.Do(a.trip, r)
		if a.head = err; err != nil {
			return
		}
		a.status, a.header, a.length = response.StatusCode, response.Header, response.ContentLength
		body, err := io.ReadAll(response.Body)
		a.body, a.err, a.trailer = string(body), err, response.Trailer
		_ = response.Body.Close()
	}()
	return got
}

// get is send for a GET.
func (g *rig) get(path string) <-chan answer {
	return g.send(request(context.Background(), "GET "+path, nil))
}

// begun is a response whose body the test reads.
type begun struct {
	response *http.Response
	err      error
	trip     *client.RoundTrip
}

// begin sends a request on another goroutine.
func (g *rig) begin(r *http.Request) <-chan begun {
	got := make(chan begun, 1)
	go func() {
		trip := new(client.RoundTrip)
		response, err := g.upstream.Do(trip, r) //nolint:bodyclose // the test's
		got <- begun{response, err, trip}
	}()
	return got
}

// wait returns what became of a request.
func wait[T any](t testing.TB, got <-chan T) T {
	t.Helper()
	return http1test.Receive(t, got, "the answer")
}

// want checks an answer that is complete.
func (a answer) want(t testing.TB, status int, body string) {
	t.Helper()
	if a.head != nil || a.err != nil || a.status != status || a.body != body {
		t.Fatalf("got %d %q, %v, %v", a.status, a.body, a.head, a.err)
	}
}

// fails checks an answer without a head.
func (a answer) fails(t testing.TB, want error, sent bool) {
	t.Helper()
	if !errors.Is(a.head, want) || a.trip.Sent() != sent {
		t.Fatalf("got %d, %v, sent %v", a.status, a.head, a.trip.Sent())
	}
}

// peer is the endpoint's end of a connection.
type peer struct {
	*http2.Framer
	t       testing.TB
	conn    net.Conn
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func (p *peer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// fields compresses fields, which are written as "name: value".
func (p *peer) fields(fields ...string) []byte {
	p.block.Reset()
	for _, field := range fields {
		at := strings.Index(field[1:], ":") + 1
		_ = p.encoder.WriteField(hpack.HeaderField{Name: field[:at], Value: strings.TrimPrefix(field[at+1:], " ")})
	}
	return p.block.Bytes()
}

// head sends HEADERS.
func (p *peer) head(id uint32, end bool, fields ...string) {
	p.t.Helper()
	p.must(p.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: p.fields(fields...), EndHeaders: true, EndStream: end,
	}))
}

// data sends DATA.
func (p *peer) data(id uint32, end bool, text string) {
	p.t.Helper()
	p.must(p.WriteData(id, end, []byte(text)))
}

// next reads a frame other than SETTINGS and the WINDOW_UPDATE of the connection.
func (p *peer) next() http2.Frame {
	p.t.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(http1test.Timeout))
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

// request reads the head of a request.
func (p *peer) request(id uint32) *http2.MetaHeadersFrame {
	p.t.Helper()
	f := expect[*http2.MetaHeadersFrame](p)
	if f.StreamID != id {
		p.t.Fatalf("got the head %v of the stream %d", f.Fields, f.StreamID)
	}
	return f
}

// body reads DATA up to the end of the stream.
func (p *peer) body(id uint32) string {
	p.t.Helper()
	var all strings.Builder
	for {
		f := expect[*http2.DataFrame](p)
		if f.StreamID != id {
			p.t.Fatalf("got %v", f)
		}
		all.Write(f.Data())
		if f.StreamEnded() {
			return all.String()
		}
	}
}

// reset reads RST_STREAM.
func (p *peer) reset(id uint32, want http2.ErrCode) {
	p.t.Helper()
	if f := expect[*http2.RSTStreamFrame](p); f.StreamID != id || f.ErrCode != want {
		p.t.Fatalf("got %v", f)
	}
}

// away reads until the connection ends, and returns the code of the last GOAWAY; came is false without one.
func (p *peer) away() (code http2.ErrCode, came bool) {
	p.t.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(http1test.Timeout))
	for {
		frame, err := p.ReadFrame()
		if f, ok := frame.(*http2.GoAwayFrame); ok && err == nil {
			code, came = f.ErrCode, true
		}
		if err != nil && !errors.As(err, new(http2.StreamError)) {
			if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
				p.t.Fatal("the connection goes on")
			}
			return code, came
		}
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// pass waits for a time, in a bubble of testing/synctest.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // within synctest

// sink reads and drops all that comes, until the connection ends.
func (p *peer) sink() {
	go func() { _, _ = io.Copy(io.Discard, p.conn) }()
}

// idle checks that nothing is left of any exchange.
func (g *rig) idle() {
	g.t.Helper()
	s := client.StateOf(g.upstream)
	if s.Streams != 0 || s.Reserved != 0 || s.Waiters != 0 || s.Woken != 0 || client.Windows(&g.resources) != 0 {
		g.t.Errorf("left: %+v, windows %d", s, client.Windows(&g.resources))
	}
}
