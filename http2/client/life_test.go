package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http2/client"
	"github.com/sluiceproxy/sluice/http2/wire"
)

// TestIdleTimeout closes a connection that had no request for a time.
func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{IdleTimeout: time.Minute})
		got := g.get("/")
		p := g.accept()
		p.request(1)
		p.head(1, true, ":status: 200")
		wait(t, got).want(t, 200, "")
		pass(40 * time.Second)
		got = g.get("/")
		p.request(3)
		p.head(3, true, ":status: 200")
		wait(t, got).want(t, 200, "")
		begun := time.Now()
		go func() {
			_ = p.conn.SetReadDeadline(time.Time{})
			for frame, err := p.ReadFrame(); err == nil; frame, err = p.ReadFrame() {
				_ = frame
			}
			if took := time.Since(begun); took != time.Minute {
				t.Errorf("it took %v", took)
			}
		}()
		pass(2 * time.Minute)
		if n := g.upstream.Connections(); n != 0 {
			t.Errorf("%d connections", n)
		}
	})
}

// TestPingTimeout ends a connection whose endpoint does not answer PING.
func TestPingTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{ReadIdleTimeout: 10 * time.Second, PingTimeout: 5 * time.Second})
		got := g.get("/")
		p := g.accept()
		p.request(1)
		_ = p.conn.SetReadDeadline(time.Time{})
		begun := time.Now()
		for range 3 {
			f := expect[*http2.PingFrame](p)
			if f.IsAck() || time.Since(begun) != 10*time.Second {
				t.Fatalf("got %v after %v", f, time.Since(begun))
			}
			begun = time.Now()
			p.must(p.WritePing(true, f.Data))
		}
		expect[*http2.PingFrame](p)
		p.sink()
		a := <-got
		a.fails(t, client.ErrNoPong, true)
		if took := time.Since(begun); took != 15*time.Second {
			t.Errorf("it took %v", took)
		}
		synctest.Wait()
		if n := g.upstream.Connections(); n != 0 {
			t.Errorf("%d connections", n)
		}
	})
}

// TestHeadTimeout ends requests whose response does not begin in time after they were sent, and has the connection
// answer PING then.
func TestHeadTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{ResponseHeaderTimeout: 2 * time.Second})
		p := g.open()
		got := g.get("/")
		p.request(3)
		synctest.Wait()
		ping := expect[*http2.PingFrame](p)
		p.reset(3, http2.ErrCodeCancel)
		(<-got).fails(t, client.ErrHeadTimeout, true)
		// The connection is suspect until the answer comes.
		got = g.get("/other")
		q := g.accept()
		q.request(1)
		q.head(1, true, ":status: 200")
		wait(t, got).want(t, 200, "")
		p.must(p.WritePing(true, ping.Data))
		synctest.Wait()

		// No further PING until there is a response, or for some minutes.
		doubt := func(id uint32, after time.Duration, pings bool) {
			pass(after)
			got := g.get("/")
			p.request(id)
			if pings {
				ping := expect[*http2.PingFrame](p)
				p.must(p.WritePing(true, ping.Data))
			}
			p.reset(id, http2.ErrCodeCancel)
			(<-got).fails(t, client.ErrHeadTimeout, true)
			synctest.Wait()
		}
		doubt(5, time.Second, false)
		doubt(7, time.Minute, false)
		doubt(9, 5*time.Minute, true)
		doubt(11, time.Second, false)
		got = g.get("/")
		p.request(13)
		p.head(13, true, ":status: 200")
		wait(t, got).want(t, 200, "")
		doubt(15, time.Second, true)
		g.idle()
	})
}

// TestDoubtEnds ends a connection that does not answer the PING of doubt.
func TestDoubtEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{PingTimeout: 3 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), client.DoubtAge)
		defer cancel()
		p := g.open()
		first := g.send(request(ctx, "GET /", nil))
		p.request(3)
		second := g.get("/")
		p.request(5)
		p.sink()
		(<-first).fails(t, context.DeadlineExceeded, true)
		(<-second).fails(t, client.ErrNoPong, true)
		synctest.Wait()
		if n := g.upstream.Connections(); n != 0 {
			t.Errorf("%d connections", n)
		}
	})
}

// TestGoAway sends what the endpoint did not process again, lets the rest end, and takes no more requests.
func TestGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		first := g.get("/1")
		p := g.accept()
		p.request(1)
		second := g.get("/2")
		p.request(3)
		third := g.send(request(t.Context(), "POST /3", nil))
		p.request(5)
		p.must(p.WriteGoAway(3, http2.ErrCodeNo, nil))
		q := g.accept()
		q.request(1)
		q.head(1, true, ":status: 203")
		wait(t, third).want(t, 203, "")
		// A further GOAWAY may take more back.
		p.must(p.WriteGoAway(1, http2.ErrCodeNo, nil))
		q.request(3)
		q.head(3, true, ":status: 202")
		wait(t, second).want(t, 202, "")
		p.head(1, false, ":status: 201")
		p.data(1, true, "hello")
		wait(t, first).want(t, 201, "hello")
		p.away()
		synctest.Wait()
		if n := g.upstream.Connections(); n != 1 {
			t.Errorf("%d connections", n)
		}
		g.idle()
	})
}

// TestConnectionEnds reports streams that the endpoint may have processed as failed.
func TestConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		first, second := g.get("/1"), g.begin(request(context.Background(), "POST /2", nil))
		p := g.accept()
		ids := map[string]uint32{}
		for _, id := range []uint32{1, 3} {
			ids[p.request(id).PseudoValue("path")] = id
		}
		p.head(ids["/2"], false, ":status: 200")
		p.data(ids["/2"], false, "half")
		b := wait(t, second)
		p.must(p.WriteGoAway(3, http2.ErrCodeInternal, nil))
		p.sink()
		synctest.Wait()
		_ = p.conn.Close()
		wait(t, first).fails(t, client.ErrServerClosed, true)
		body, err := io.ReadAll(b.response.Body)
		if string(body) != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %q, %v", body, err)
		}
		if _, err := b.response.Body.Read(make([]byte, 1)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		g.idle()
	})
}

// TestSentAgain looks at what is sent again over another connection: what was not processed, and what is idempotent on
// a connection that had been used before.
func TestSentAgain(t *testing.T) {
	tests := map[string]struct {
		method string
		// used has a response come before; some is what comes of this one.
		used  bool
		some  func(p *peer, id uint32)
		fails bool
		sent  bool
	}{
		"GET":             {"GET", true, nil, false, true},
		"PUT":             {"PUT", true, nil, false, true},
		"POST":            {"POST", true, nil, true, true},
		"GET, unused":     {"GET", false, nil, true, true},
		"GET, informed":   {"GET", true, func(p *peer, id uint32) { p.head(id, false, ":status: 103") }, true, true},
		"GET, frames":     {"GET", true, func(p *peer, _ uint32) { p.must(p.WritePing(false, [8]byte{})) }, true, true},
		"POST, cancelled": {"POST", true, refuse(http2.ErrCodeCancel), true, true},
		"POST, no error":  {"POST", true, refuse(http2.ErrCodeNo), true, true},
		"POST, away": {
			"POST", true, func(p *peer, id uint32) { p.must(p.WriteGoAway(id-2, http2.ErrCodeNo, nil)) }, false, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, client.Config{})
				id := uint32(1)
				var p *peer
				if test.used {
					p, id = g.open(), 3
				}
				got := g.send(request(context.Background(), test.method+" /", nil))
				if p == nil {
					p = g.accept()
				}
				p.request(id)
				synctest.Wait()
				if test.some != nil {
					test.some(p, id)
				}
				p.sink()
				synctest.Wait()
				_ = p.conn.Close()
				if test.fails {
					if a := wait(t, got); a.head == nil || a.trip.Sent() != test.sent {
						t.Errorf("got %d, %v", a.status, a.head)
					}
					return
				}
				q := g.accept()
				q.request(1)
				q.head(1, true, ":status: 200")
				wait(t, got).want(t, 200, "")
				g.idle()
			})
		})
	}
}

func refuse(code http2.ErrCode) func(p *peer, id uint32) {
	return func(p *peer, id uint32) { p.must(p.WriteRSTStream(id, code)) }
}

// TestRefusedAlways gives up after some tries, and says that nothing was processed.
func TestRefusedAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		got := g.send(request(context.Background(), "POST /", nil))
		p := g.accept()
		for n := range client.MaxTries {
			id := uint32(1 + 2*n)
			p.request(id)
			p.must(p.WriteRSTStream(id, http2.ErrCodeRefusedStream))
		}
		a := wait(t, got)
		reset, ok := errors.AsType[*client.ResetError](a.head)
		if !ok || reset.Code != wire.RefusedStream || a.trip.Sent() {
			t.Errorf("got %d, %v", a.status, a.head)
		}
		g.idle()
	})
}

// TestUpstreamClose ends requests in all states.
func TestUpstreamClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		waiting := g.get("/")
		p := g.accept()
		p.request(1)
		p.must(p.WritePing(false, [8]byte{})) // Nothing else is left to be sent when its acknowledgement has come.
		expect[*http2.PingFrame](p)
		reading := g.begin(request(context.Background(), "GET /", nil))
		p.request(3)
		p.head(3, false, ":status: 200")
		b := wait(t, reading)
		reader, _ := io.Pipe()
		sending := g.send(request(context.Background(), "POST /", reader))
		p.request(5)
		p.sink()
		synctest.Wait()
		g.upstream.CloseIdleConnections() // It is not idle.
		synctest.Wait()
		g.upstream.Close()
		wait(t, waiting).fails(t, client.ErrUpstreamClosed, true)
		wait(t, sending).fails(t, client.ErrUpstreamClosed, true)
		if _, err := b.response.Body.Read(make([]byte, 1)); !errors.Is(err, client.ErrUpstreamClosed) {
			t.Error(err)
		}
		if err := b.response.Body.Close(); err != nil {
			t.Error(err)
		}
		if _, err := b.response.Body.Read(make([]byte, 1)); err == nil {
			t.Error("a closed body can be read")
		}
		synctest.Wait()
		g.idle()
	})
}

// TestRoundTripIsUsedOnce refuses a RoundTrip that has served a request, until Reset.
func TestRoundTripIsUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		got := g.get("/")
		p := g.accept()
		p.request(1)
		p.head(1, true, ":status: 200")
		a := wait(t, got)
		body := &closable{Reader: http.NoBody}
		r := request(context.Background(), "POST /", body)
		if _, err := g.upstream.Do(a.trip, r); !errors.Is(err, client.ErrRoundTripUsed) || !body.closed.Load() { //nolint:bodyclose // none
			t.Error(err)
		}
		if !a.trip.Alone() {
			t.Error("another goroutine has worked for a GET")
		}
		a.trip.Reset()
		done := make(chan error)
		go func() {
			_, err := g.upstream.Do(a.trip, request(context.Background(), "GET /", nil)) //nolint:bodyclose // none
			done <- err
		}()
		p.request(3)
		p.head(3, true, ":status: 200")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
