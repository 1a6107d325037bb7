package client_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	http1 "github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http2/client"
	"github.com/sluiceproxy/sluice/httpio"
)

// TestCancel ends a request in each of its states with the cause of its context.
func TestCancel(t *testing.T) {
	cause := errors.New("the cause")
	tests := map[string]struct {
		body io.Reader
		// play brings the stream 3 into its state.
		play func(p *peer)
		head bool
	}{
		"waiting":   {nil, func(*peer) {}, false},
		"informed":  {nil, func(p *peer) { p.head(3, false, ":status: 103") }, false},
		"body":      {nil, func(p *peer) { p.head(3, false, ":status: 200") }, true},
		"half read": {nil, func(p *peer) { p.head(3, false, ":status: 200"); p.data(3, false, "half") }, true},
		"uploading": {streamed(io.MultiReader(strings.NewReader("x"), blockingReader{})), func(*peer) {}, false},
		"no window": {strings.NewReader(strings.Repeat("x", 100_000)), func(*peer) {}, false},
		"both": {
			streamed(strings.NewReader(strings.Repeat("x", 100_000))), func(p *peer) { p.head(3, false, ":status: 200") }, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, client.Config{})
				p := g.open()
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := make(chan struct{})
				defer close(stop)
				body := test.body
				if body != nil && test.head == false && name == "uploading" {
					body = streamed(io.MultiReader(strings.NewReader("x"), blockingReader{stop}))
				}
				got := g.send(request(ctx, "POST /", body))
				p.request(3)
				synctest.Wait()
				test.play(p)
				synctest.Wait()
				cancel(cause)
				for {
					if f, ok := p.next().(*http2.RSTStreamFrame); ok {
						if f.ErrCode != http2.ErrCodeCancel {
							t.Error(f.ErrCode)
						}
						break
					}
				}
				a := wait(t, got)
				if !test.head {
					a.fails(t, cause, true)
				} else if a.status != 200 || !errors.Is(a.err, cause) {
					t.Errorf("got %d, %v, %v", a.status, a.head, a.err)
				}
				synctest.Wait() // The upload may end after the response.
				g.idle()
			})
		})
	}
}

// blockingReader reads nothing until it is stopped.
type blockingReader struct{ stop <-chan struct{} }

func (b blockingReader) Read([]byte) (int, error) {
	<-b.stop
	return 0, io.EOF
}

// TestCloseWhileReading ends a Read that waits.
func TestCloseWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		p := g.open()
		got := g.begin(request(context.Background(), "GET /", nil))
		p.request(3)
		p.head(3, false, ":status: 200")
		b := wait(t, got)
		failed := make(chan error)
		go func() {
			_, err := b.response.Body.Read(make([]byte, 1))
			failed <- err
		}()
		synctest.Wait()
		if err := b.response.Body.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; err == nil {
			t.Error("it was read")
		}
		p.reset(3, http2.ErrCodeCancel)
		if err := b.response.Body.Close(); err != nil {
			t.Error(err)
		}
		g.idle()
	})
}

// notified counts the waits of a body that is written to it.
type notified struct {
	strings.Builder
	waits int
}

func (n *notified) Waiting() { n.waits++ }

// TestWriteTo writes what is there, and notifies before it waits.
func TestWriteTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		p := g.open()
		got := g.begin(request(context.Background(), "GET /", nil))
		p.request(3)
		p.head(3, false, ":status: 200")
		b := wait(t, got)
		if _, whole := httpio.Buffered(b.response.Body); whole {
			t.Error("the body is there already")
		}
		text := strings.Repeat("0123456789", 1000)
		p.data(3, false, text)
		synctest.Wait()
		var to notified
		written := make(chan int64)
		go func() {
			n, err := b.response.Body.(io.WriterTo).WriteTo(&to)
			if err != nil {
				t.Error(err)
			}
			written <- n
		}()
		synctest.Wait()
		p.data(3, false, "hel")
		synctest.Wait()
		p.data(3, true, "lo")
		if n := <-written; n != int64(len(text)+5) || to.String() != text+"hello" || to.waits != 2 {
			t.Errorf("%d bytes, %d waits", n, to.waits)
		}

		got = g.begin(request(context.Background(), "GET /", nil))
		p.request(5)
		p.head(5, false, ":status: 200")
		p.data(5, true, "hello")
		b = wait(t, got)
		synctest.Wait()
		body, whole := httpio.Buffered(b.response.Body)
		if !whole {
			t.Fatal("the body is not there")
		}
		to = notified{}
		if _, err := body.WriteTo(&to); err != nil || to.String() != "hello" || to.waits != 0 {
			t.Errorf("got %q, %v", to.String(), err)
		}
		if body.Ready() {
			t.Error("there is more")
		}

		// The connection fails in the middle.
		got = g.begin(request(context.Background(), "GET /", nil))
		p.request(7)
		p.head(7, false, ":status: 200")
		p.data(7, false, "half")
		b = wait(t, got)
		p.sink()
		synctest.Wait()
		_ = p.conn.Close()
		to = notified{}
		_, err := b.response.Body.(io.WriterTo).WriteTo(&to)
		if _, refused := errors.AsType[*http1.DestinationError](err); err == nil || refused || to.String() != "half" {
			t.Errorf("got %q, %v", to.String(), err)
		}
		g.idle()
	})
}

// TestRecycledTrips sends many requests over recycled memory, some of which are cancelled, against net/http's server.
func TestRecycledTrips(t *testing.T) {
	g := againstServer(t, client.Config{})
	var recycled sync.Pool
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range 100 {
				trip, ok := recycled.Get().(*client.RoundTrip)
				if !ok {
					trip = new(client.RoundTrip)
				}
				ctx, cancel := context.WithCancel(t.Context())
				text := strings.Repeat("0123456789", n*n)
				r := request(ctx, "POST /", strings.NewReader(text))
				if n%5 == 0 {
					go cancel()
				}
				response, err := g.upstream.Do(trip, r)
				if err == nil {
					var body []byte
					if n%7 == 0 {
						_, err = response.Body.Read(make([]byte, 10))
						_ = response.Body.Close()
					} else {
						body, err = io.ReadAll(response.Body)
						if err == nil && string(body) != text {
							t.Errorf("got %d bytes for %d", len(body), len(text))
						}
						_ = response.Body.Close()
					}
				}
				if err != nil && n%5 != 0 && err != io.EOF { //nolint:errorlint // as Read returns it
					t.Error(err)
				}
				cancel()
				if trip.Alone() {
					trip.Reset()
					recycled.Put(trip)
				}
			}
		})
	}
	all.Wait()
	g.idle()
}
