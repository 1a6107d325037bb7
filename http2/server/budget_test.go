package server_test

import (
	"io"
	"net/http"
	"testing"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/server"
)

// granted reads until the answer to a PING, and returns by how much the window of the connection has grown.
func (p *peer) granted() (window int64) {
	p.t.Helper()
	p.must(p.WritePing(false, [8]byte{1}))
	p.flush()
	for {
		frame, err := p.ReadFrame()
		p.must(err)
		switch f := frame.(type) {
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				window += int64(f.Increment)
			}
		case *http2.PingFrame:
			if f.IsAck() {
				return window
			}
		case *http2.GoAwayFrame:
			p.t.Fatalf("GOAWAY %v", f.ErrCode)
		}
	}
}

// upload sends so many bytes of a body.
func (p *peer) upload(id uint32, bytes int64) {
	p.t.Helper()
	const most = 16 << 10
	for ; bytes > 0; bytes -= most {
		p.must(p.WriteData(id, false, make([]byte, min(bytes, most))))
	}
}

// TestWindowsHaveABudget has many clients upload what their windows allow to handlers that do not read. Their windows
// grow within the budget, no client is refused, and what they hold is bounded. The budget is free again when they have
// left.
func TestWindowsHaveABudget(t *testing.T) {
	const clients, budget, growth = 24, 4 << 20, server.ConnWindow - server.MinWindow
	release := make(chan struct{})
	g := newRig(t, &server.Server{MaxWindowBytes: budget, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hold" {
				<-release
			}
			n, _ := io.Copy(io.Discard, r.Body)
			if r.URL.Path == "/" && n != 100 {
				t.Errorf("%d bytes have come", n)
			}
			w.WriteHeader(http.StatusNoContent)
		})})
	before := http1test.Heap()
	var grown int64
	peers := make([]*peer, clients)
	for i := range peers {
		p := g.peer()
		peers[i] = p
		// Several streams, since one has less than a connection.
		for k := range uint32(server.ConnWindow / server.StreamWindow) {
			p.request(nth(k), "POST", "/hold", false)
		}
		p.upload(1, server.MinWindow-100)
		more := p.granted()
		if more != 0 && more != growth {
			t.Errorf("the window has grown by %d", more)
		}
		grown += more
		left := more
		for k := range uint32(server.ConnWindow / server.StreamWindow) {
			part := min(left, server.StreamWindow-server.MinWindow)
			p.upload(nth(k), part)
			left -= part
		}
		p.granted()
	}
	if want := int64(budget / growth * growth); grown != want || server.Windows(g.server) != want {
		t.Errorf("windows have grown by %d and hold %d, and %d was to be", grown, server.Windows(g.server), want)
	}
	if held := http1test.Heap() - before; held > budget+clients*server.MinWindow+(4<<20) {
		t.Errorf("%d KiB are held", held>>10)
	}
	// The rest of each window serves another request.
	for _, p := range peers {
		p.request(99, "POST", "/", false)
		p.must(p.WriteData(99, true, make([]byte, 100)))
		for ended := false; !ended; {
			f, ok := p.next().(*http2.MetaHeadersFrame)
			ended = ok && f.StreamID == 99 && f.PseudoValue("status") == "204"
		}
	}
	close(release)
	for _, p := range peers {
		_ = p.conn.Close()
	}
	http1test.Eventually(t, "the budget is free", func() bool { return server.Windows(g.server) == 0 })
}

// TestUnreadBodyStopsNoOther has a body that is not read take most of the least window. Another one goes on with the
// rest of it, whether it is read or closed by its handler, which then waits.
func TestUnreadBodyStopsNoOther(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(r *http.Request){
		"read":   func(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) },
		"closed": func(r *http.Request) { _ = r.Body.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release, arrived := make(chan struct{}), make(chan struct{})
			defer close(release)
			// Without a budget the window does not grow.
			g := newRig(t, &server.Server{MaxWindowBytes: 1, Handler: http.HandlerFunc(
				func(_ http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/hold" {
						<-arrived
						use(r)
					}
					<-release
				})})
			const unread = 40 << 10
			p := g.peer()
			p.request(1, "POST", "/hold", false)
			p.upload(1, unread)
			p.request(3, "POST", "/", false)
			window := int64(server.MinWindow - unread)
			p.upload(3, window)
			if more := p.granted(); more != 0 {
				t.Fatalf("the window has grown by %d", more)
			}
			close(arrived)
			for sent := window; sent < server.StreamWindow/2; sent += window {
				for window = 0; window == 0; {
					frame, err := p.ReadFrame()
					p.must(err)
					if f, ok := frame.(*http2.WindowUpdateFrame); ok && f.StreamID == 0 {
						window += int64(f.Increment)
					}
				}
				p.upload(3, window)
				p.flush()
			}
		})
	}
}

// TestWindowShrinks takes a window back that a client has used, once its requests have ended.
func TestWindowShrinks(t *testing.T) {
	t.Parallel()
	g := serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	p := g.peer()
	window := int64(server.MinWindow)
	// A client that never sends more than it may is never refused, whatever the window becomes.
	for i := range uint32(40) {
		p.request(nth(i), "POST", "/", false)
		part := min(window, server.StreamWindow/2-1)
		p.upload(nth(i), part)
		p.must(p.WriteData(nth(i), true, nil))
		window -= part
		for ended := false; !ended; {
			p.flush()
			frame, err := p.ReadFrame()
			p.must(err)
			switch f := frame.(type) {
			case *http2.WindowUpdateFrame:
				if f.StreamID == 0 {
					window += int64(f.Increment)
				}
			case *http2.DataFrame:
				ended = f.StreamEnded()
			case *http2.MetaHeadersFrame:
				ended = f.StreamEnded()
			}
		}
		window += p.granted()
		if window < server.MinWindow/2 {
			t.Fatalf("the client may send %d bytes", window)
		}
	}
	if held := server.Windows(g.server); held >= server.ConnWindow-server.MinWindow {
		t.Errorf("the window has not shrunk: %d", held)
	}
}
