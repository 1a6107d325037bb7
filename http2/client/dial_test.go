package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http2/client"
)

// hookedBody is a body of which nothing is at hand. It calls a function when it is first asked.
type hookedBody struct {
	io.Reader
	hook func()
}

func (b *hookedBody) ReadNow([]byte) (int, error) {
	if b.hook != nil {
		b.hook()
		b.hook = nil
	}
	return 0, nil
}

func (*hookedBody) Close() error { return nil }

// TestFewerStreams keeps to a limit that comes between the choice of the connection and the request.
func TestFewerStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		first := g.get("/")
		p := g.accept(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
		p.request(1)
		asked, ready := make(chan struct{}), make(chan struct{})
		body := &hookedBody{strings.NewReader("hello"), func() { close(asked); <-ready }}
		second := g.send(request(context.Background(), "POST /", body))
		<-asked
		p.must(p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}))
		p.must(p.WritePing(false, [8]byte{}))
		expect[*http2.PingFrame](p)
		close(ready)
		q := g.accept()
		q.request(1)
		if got := q.body(1); got != "hello" {
			t.Errorf("got %q", got)
		}
		q.head(1, true, ":status: 200")
		wait(t, second).want(t, 200, "")
		p.head(1, true, ":status: 200")
		wait(t, first).want(t, 200, "")
		g.idle()
	})
}

// TestNoStreams gives up soon where the endpoint allows no streams at all, and keeps no connections to it.
func TestNoStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		g := newRig(t, client.Config{Dial: func(context.Context) (net.Conn, error) {
			dials.Add(1)
			near, far := net.Pipe()
			go func() {
				defer far.Close() //nolint:errcheck // a test's
				_, _ = io.ReadFull(far, make([]byte, len(http2.ClientPreface)))
				framer := http2.NewFramer(far, far)
				_ = framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
				for frame, err := framer.ReadFrame(); err == nil; frame, err = framer.ReadFrame() {
					if f, ok := frame.(*http2.HeadersFrame); ok {
						_ = framer.WriteRSTStream(f.StreamID, http2.ErrCodeRefusedStream)
					}
				}
			}()
			return near, nil
		}})
		for range 3 {
			dials.Store(0)
			a := wait(t, g.get("/"))
			if a.head == nil || a.trip.Sent() || dials.Load() > client.MaxTries {
				t.Fatalf("got %d, %v, %d connections", a.status, a.head, dials.Load())
			}
		}
		synctest.Wait()
		if n := g.upstream.Connections(); n != 0 {
			t.Errorf("%d connections are kept", n)
		}
		g.idle()
	})
}

// TestCloseWhileDialing ends all dials, and the requests that wait for them.
func TestCloseWhileDialing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{Dial: func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		var waiting []<-chan answer
		for range 250 {
			waiting = append(waiting, g.get("/"))
		}
		synctest.Wait()
		g.upstream.Close()
		synctest.Wait()
		for _, one := range waiting {
			wait(t, one).fails(t, client.ErrUpstreamClosed, false)
		}
		wait(t, g.get("/")).fails(t, client.ErrUpstreamClosed, false)
		near, far := net.Pipe()
		if err := g.upstream.Add(near); !errors.Is(err, client.ErrUpstreamClosed) {
			t.Error(err)
		}
		if _, err := far.Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // as net.Pipe returns it
			t.Error(err)
		}
	})
}

// TestCancelWhileDialing ends a dial with the last request that waits for it.
func TestCancelWhileDialing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{}, 10)
		g := newRig(t, client.Config{Dial: func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			ended <- struct{}{}
			return nil, ctx.Err()
		}})
		one, cancelOne := context.WithCancel(t.Context())
		two, cancelTwo := context.WithCancelCause(t.Context())
		first, second := g.send(request(one, "GET /", nil)), g.send(request(two, "GET /", nil))
		synctest.Wait()
		cancelOne()
		wait(t, first).fails(t, context.Canceled, false)
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal("the dial has ended")
		}
		cancelTwo(io.ErrNoProgress)
		wait(t, second).fails(t, io.ErrNoProgress, false)
		<-ended
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		wait(t, g.send(request(cancelled, "GET /", nil))).fails(t, context.Canceled, false)
	})
}

// TestDialFails hands the error over to all that wait, and dials again for the next one.
func TestDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		refused := errors.New("refused")
		g := newRig(t, client.Config{Dial: func(context.Context) (net.Conn, error) {
			dials.Add(1)
			pass(time.Second)
			return nil, refused
		}})
		first, second := g.get("/"), g.get("/")
		wait(t, first).fails(t, refused, false)
		wait(t, second).fails(t, refused, false)
		wait(t, g.get("/")).fails(t, refused, false)
		if n := dials.Load(); n != 2 {
			t.Errorf("%d dials", n)
		}
	})
}

// TestOtherProtocolAfterBody does not report ErrNotHTTP2 once a part of the body was read: it can't be sent otherwise.
func TestOtherProtocolAfterBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, body := range []string{"", "hello"} {
			near, far := net.Pipe()
			g := newRig(t, client.Config{Dial: func(context.Context) (net.Conn, error) { return nil, client.ErrNotHTTP2 }})
			if err := g.upstream.Add(near); err != nil {
				t.Fatal(err)
			}
			g.conns <- far
			reader := &closable{Reader: strings.NewReader(body)}
			r := request(context.Background(), "POST /", reader)
			if body != "" {
				r.ContentLength = int64(len(body))
				r.GetBody = func() (io.ReadCloser, error) { return nil, nil }
			} else {
				r.Body = nil
			}
			got := g.send(r)
			p := g.accept()
			p.request(1)
			if body != "" {
				p.body(1)
			}
			p.must(p.WriteGoAway(0, http2.ErrCodeNo, nil))
			a := wait(t, got)
			if errors.Is(a.head, client.ErrNotHTTP2) != (body == "") || a.head == nil || a.trip.Sent() {
				t.Errorf("with the body %q: %v, sent %v", body, a.head, a.trip.Sent())
			}
			if body != "" && !reader.closed.Load() {
				t.Error("the body is open")
			}
			far.Close() //nolint:errcheck // a test's
		}
	})
}

// closable notes that it was closed.
type closable struct {
	io.Reader
	closed atomic.Bool
}

func (c *closable) Close() error {
	c.closed.Store(true)
	return nil
}

// TestHeadBehindEnd refuses HEADERS on a stream whose response has ended while the request is still sent.
func TestHeadBehindEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		reader, writer := io.Pipe()
		got := g.begin(request(context.Background(), "POST /", reader))
		p := g.accept()
		p.request(1)
		p.head(1, false, ":status: 200")
		b := wait(t, got)
		p.head(1, true, "x-a: b")
		p.head(1, true, "x-a: c")
		p.reset(1, http2.ErrCodeStreamClosed)
		body, err := io.ReadAll(b.response.Body)
		if err != nil || len(body) > 0 || b.response.Trailer.Get("X-A") != "b" {
			t.Errorf("got %q, %v, %v", body, err, b.response.Trailer)
		}
		synctest.Wait()
		if _, err := writer.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Error(err)
		}
		g.idle()
	})
}
