package entrypoint_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluiceproxy/sluice/static"
)

// pipes is a listener whose connections are in memory, so that a bubble of synctest has all of it.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// handler handles a request of a test, and sends how that ended.
type handler func(w http.ResponseWriter, r *http.Request, over chan<- error)

// client is the other end of a connection in HTTP/2.
type client struct {
	net.Conn
	*http2.Framer
	over <-chan error
}

// inBubble serves a handler in a bubble, and hands the client's end of a connection in HTTP/2 to a function.
func inBubble(t *testing.T, handle handler, change func(*static.EntryPoint), play func(*testing.T, client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		over := make(chan error, 1)
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, over) })
		startWith(t, handler, change, func(context.Context, string, string) (net.Listener, error) { return listener, nil })
		ours, theirs := net.Pipe()
		listener.conns <- theirs
		defer func() { _ = ours.Close() }()
		say(t, ours, http2.ClientPreface)
		framer := http2.NewFramer(ours, ours)
		framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		// The server sends its settings meanwhile.
		go func() { _ = framer.WriteSettings() }()
		if _, err := framer.ReadFrame(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		play(t, client{ours, framer, over})
	})
}

// TestTricklingBodies sends one byte every four seconds, which is within readTimeout and below the least rate.
func TestTricklingBodies(t *testing.T) {
	for _, test := range []struct {
		name, contentType string
		read              time.Duration
		ends              bool
	}{
		{"with readTimeout", "text/plain", time.Minute, true},
		{"without readTimeout", "text/plain", 0, true},
		{"gRPC", "application/grpc+proto", time.Minute, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			handler := func(_ http.ResponseWriter, r *http.Request, over chan<- error) {
				_, err := io.Copy(io.Discard, r.Body)
				over <- err
			}
			change := func(c *static.EntryPoint) {
				c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(test.read)
			}
			inBubble(t, handler, change, func(t *testing.T, c client) {
				go func() {
					for _, err := c.ReadFrame(); err == nil; _, err = c.ReadFrame() {
					}
				}()
				open(t, c.Framer, 1, false, ":method", "POST", ":scheme", "http", ":path", "/", ":authority", "a", "content-type",
					test.contentType)
				begin := time.Now()
				for range 10 {
					_ = c.WriteData(1, false, []byte("x"))
					select {
					case err := <-c.over:
						took := time.Since(begin)
						if !test.ends || !errors.Is(err, os.ErrDeadlineExceeded) || took > 8*time.Second {
							t.Errorf("%v after %v", err, took)
						}
						return
					case <-time.After(4 * time.Second): //nolint:forbidigo // in a bubble
					}
				}
				if test.ends {
					t.Error("the body has no end")
				}
				_ = c.WriteData(1, true, nil)
				if err := <-c.over; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestBodiesAtTheLeastRate sends as slowly as a client may, with pauses of the handler that do not count.
func TestBodiesAtTheLeastRate(t *testing.T) {
	handler := func(_ http.ResponseWriter, r *http.Request, over chan<- error) {
		buffer := make([]byte, 512)
		for {
			_, err := r.Body.Read(buffer)
			if err != nil {
				over <- err
				return
			}
			<-time.After(20 * time.Second) //nolint:forbidigo // in a bubble
		}
	}
	inBubble(t, handler, nil, func(t *testing.T, c client) {
		go func() {
			pings := http2.NewFramer(c.Conn, nil)
			for {
				frame, err := c.ReadFrame()
				if err != nil {
					return
				}
				if ping, ok := frame.(*http2.PingFrame); ok && !ping.IsAck() {
					_ = pings.WritePing(true, ping.Data)
				}
			}
		}()
		open(t, c.Framer, 1, false, ":method", "POST", ":scheme", "http", ":path", "/", ":authority", "a")
		for i := range 20 {
			_ = c.WriteData(1, i == 19, make([]byte, 240))
			<-time.NewTimer(time.Second).C
		}
		if err := <-c.over; !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
}

// TestClientsThatDoNotRead stops to read in the middle of a response.
func TestClientsThatDoNotRead(t *testing.T) {
	handler := func(w http.ResponseWriter, _ *http.Request, over chan<- error) {
		for {
			if _, err := w.Write(make([]byte, 16<<10)); err != nil {
				over <- err
				return
			}
		}
	}
	inBubble(t, handler, nil, func(t *testing.T, c client) {
		begin := time.Now()
		open(t, c.Framer, 1, true, ":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a")
		if err := <-c.over; err == nil || time.Since(begin) > 3*time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// TestClientsThatAreGone never answer, without a sign of the connection that they are gone.
func TestClientsThatAreGone(t *testing.T) {
	handler := func(_ http.ResponseWriter, r *http.Request, over chan<- error) {
		<-r.Context().Done()
		over <- nil
	}
	inBubble(t, handler, nil, func(t *testing.T, c client) {
		begin := time.Now()
		open(t, c.Framer, 1, true, ":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a")
		go func() { _, _ = io.Copy(io.Discard, c.Conn) }()
		if err := <-c.over; err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 3*time.Minute {
			t.Errorf("the request ended after %v", took)
		}
	})
}
