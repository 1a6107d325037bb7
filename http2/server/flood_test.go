package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/server"
)

// flood is what a hostile client does again and again.
type flood struct {
	name string
	// begin, unless it is nil, comes first, and again is called with numbers from 0.
	begin func(p *peer)
	again func(p *peer, i uint32) error
	// code is how the connection ends; empty for ENHANCE_YOUR_CALM.
	code string
	// cause is what is counted; by default server.CauseResets.
	cause server.Cause
	// or is the cause where another limit is reached first, as the speeds of client and server have it.
	or server.Cause
	// growth is by how many bytes the heap may grow; 0 is 4 MiB.
	growth int64
	// most is the largest head that the server accepts, in bytes; 0 is its default.
	most int
}

// nth returns the identifier of a client's stream from its number.
func nth(i uint32) uint32 { return 2*i + 1 }

// floodFrames is how often a flood is repeated at most. It is little enough that no machine is so slow that they are
// admitted by their rate.
const floodFrames = 4 * server.Burst

// resets are floods that have streams reset (CVE-2023-44487, CVE-2025-8671, CVE-2019-9514).
func resets() []flood {
	// provoke opens a stream and then has the server reset it.
	provoke := func(name string, frame func(p *peer, id uint32) error) flood {
		return flood{name: name, again: func(p *peer, i uint32) error {
			if err := p.open(nth(i), "POST", "/wait", false); err != nil {
				return err
			}
			return frame(p, nth(i))
		}}
	}
	empty := provoke("WINDOW_UPDATE of 0", func(p *peer, id uint32) error {
		return p.WriteRawFrame(8, 0, id, make([]byte, 4))
	})
	empty.or = server.CauseWindowUpdate // Each counts twice.
	return []flood{
		empty,
		provoke("rapid reset", func(p *peer, id uint32) error { return p.WriteRSTStream(id, http2.ErrCodeCancel) }),
		provoke("window overflow", func(p *peer, id uint32) error { return p.WriteWindowUpdate(id, 1<<31-1) }),
		provoke("PRIORITY on itself", func(p *peer, id uint32) error {
			return p.WritePriority(id, http2.PriorityParam{StreamDep: id})
		}),
		provoke("PRIORITY of a wrong length", func(p *peer, id uint32) error { return p.WriteRawFrame(2, 0, id, []byte("1234")) }),
		provoke("trailers without end", func(p *peer, id uint32) error {
			return p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.head("a: b"), EndHeaders: true})
		}),
		{name: "DATA on a half-closed stream", again: func(p *peer, i uint32) error {
			if err := p.open(nth(i), "GET", "/wait", true); err != nil {
				return err
			}
			return p.WriteData(nth(i), false, []byte(strings.Repeat("x", 20)))
		}},
		{name: "body longer than content-length", again: func(p *peer, i uint32) error {
			if err := p.open(nth(i), "POST", "/wait", false, "content-length: 1"); err != nil {
				return err
			}
			return p.WriteData(nth(i), false, []byte(strings.Repeat("x", 20)))
		}},
		{name: "more streams than the limit", again: func(p *peer, i uint32) error {
			return p.open(nth(i), "GET", "/wait", true)
		}},
		{name: "names without a byte", again: func(p *peer, i uint32) error { // CVE-2019-9516
			return p.WriteHeaders(http2.HeadersFrameParam{
				StreamID: nth(i), EndStream: true, EndHeaders: true,
				BlockFragment: append(p.head(":method: GET", ":scheme: http", ":path: /"), 0x40, 0, 0),
			})
		}},
		{name: "heads without a byte", again: func(p *peer, i uint32) error {
			return p.WriteHeaders(http2.HeadersFrameParam{StreamID: nth(i), EndStream: true, EndHeaders: true})
		}},
	}
}

// controls are floods of frames that cost a client less than the server (CVE-2019-9512, CVE-2019-9515, CVE-2019-9518).
func controls() []flood {
	stream := func(p *peer) { p.request(1, "POST", "/read", false) }
	gone := func(p *peer) {
		p.request(1, "POST", "/wait", false)
		p.must(p.WriteWindowUpdate(1, 1<<31-1)) // The server resets it, so that other frames may be on their way.
	}
	return []flood{
		{name: "PING", cause: server.CausePing, again: func(p *peer, _ uint32) error {
			return p.WritePing(false, [8]byte{1})
		}},
		{name: "answers to PING", cause: server.CausePing, again: func(p *peer, _ uint32) error {
			return p.WritePing(true, [8]byte{1})
		}},
		{name: "SETTINGS", cause: server.CauseSettings, again: func(p *peer, _ uint32) error {
			return p.WriteSettings()
		}},
		{name: "large SETTINGS", cause: server.CauseSettings, again: func(p *peer, i uint32) error {
			if i > 200 {
				return io.EOF
			}
			return p.WriteRawFrame(4, 0, 0, []byte(strings.Repeat("\x00\x04\x00\x00\x10\x00", 2700)))
		}},
		{name: "acknowledgements of SETTINGS", cause: server.CauseSettings, again: func(p *peer, _ uint32) error {
			return p.WriteSettingsAck()
		}},
		{name: "PRIORITY", cause: server.CausePriority, again: func(p *peer, i uint32) error {
			return p.WritePriority(nth(i), http2.PriorityParam{Weight: 1})
		}},
		{name: "PRIORITY_UPDATE", cause: server.CausePriority, again: func(p *peer, _ uint32) error {
			return p.WriteRawFrame(16, 0, 0, []byte("\x00\x00\x00\x01u=1"))
		}},
		{name: "unknown frames", cause: server.CauseUnknown, again: func(p *peer, i uint32) error {
			return p.WriteRawFrame(0xcc, 0, nth(i), nil)
		}},
		{name: "GOAWAY", cause: server.CauseUnknown, again: func(p *peer, _ uint32) error {
			return p.WriteGoAway(0, http2.ErrCodeNo, nil)
		}},
		{name: "empty DATA", cause: server.CauseEmpty, begin: stream, again: func(p *peer, _ uint32) error {
			return p.WriteData(1, false, nil)
		}},
		{name: "padding", cause: server.CauseEmpty, begin: stream, again: func(p *peer, _ uint32) error {
			return p.WriteDataPadded(1, false, []byte("x"), make([]byte, 20))
		}},
		{name: "heads on a stream that was reset", begin: gone, again: func(p *peer, _ uint32) error {
			return p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: p.head("a: b")})
		}},
		{name: "DATA on a stream that was reset", begin: gone, again: func(p *peer, _ uint32) error {
			return p.WriteData(1, false, []byte("x"))
		}},
		{name: "WINDOW_UPDATE of 1 of the connection", cause: server.CauseWindowUpdate, again: func(p *peer, _ uint32) error {
			return p.WriteWindowUpdate(0, 1)
		}},
		{
			name: "WINDOW_UPDATE of 1", cause: server.CauseWindowUpdate, begin: stream,
			again: func(p *peer, _ uint32) error {
				return p.WriteWindowUpdate(1, 1)
			},
		},
		{name: "RST_STREAM on a stream that was reset", begin: gone, again: func(p *peer, _ uint32) error {
			return p.WriteRSTStream(1, http2.ErrCodeCancel)
		}},
	}
}

// heads are floods with heads that are long or large (CVE-2023-45288, CVE-2016-1544).
func heads() []flood {
	long := strings.Repeat("x", 4000)
	// bomb refers to one field of 4,000 bytes again and again. The others do not take its place in the table, so that
	// requests are sent faster than a busy machine admits them by their rate.
	bomb := func(name, path string, times int, others ...string) func(p *peer, i uint32) error {
		return func(p *peer, i uint32) error {
			p.block.Reset()
			pseudo := []string{":method: GET", ":scheme: http", ":authority: a", ":path: " + path}
			for _, field := range append(pseudo, others...) {
				before, value, _ := strings.Cut(field[1:], ": ")
				_ = p.encoder.WriteField(hpack.HeaderField{Name: field[:1] + before, Value: value, Sensitive: true})
			}
			for range times {
				_ = p.encoder.WriteField(hpack.HeaderField{Name: name, Value: long})
			}
			return p.WriteHeaders(http2.HeadersFrameParam{
				StreamID: nth(i), BlockFragment: p.block.Bytes(), EndHeaders: true, EndStream: true,
			})
		}
	}
	beginHead := func(p *peer) {
		p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, BlockFragment: p.head(":method: GET")}))
	}
	noWindow := func(p *peer) { p.must(p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize})) }
	return []flood{
		{
			name: "empty CONTINUATION", cause: server.CauseContinuation, begin: beginHead,
			again: func(p *peer, _ uint32) error {
				return p.WriteContinuation(1, false, nil)
			},
		},
		{
			name: "CONTINUATION without end", cause: server.CauseHeaderList, begin: beginHead,
			again: func(p *peer, i uint32) error {
				return p.WriteContinuation(1, false, p.head(fmt.Sprintf("a%d: %s", i, long)))
			},
		},
		{name: "HPACK bomb", cause: server.CauseHeaderList, again: bomb("a", "/wait", 190)},
		{name: "HPACK bomb of cookies", cause: server.CauseHeaderList, again: bomb("cookie", "/wait", 190)},
		{
			name: "HPACK bomb of refused requests", cause: server.CauseRefused, or: server.CauseHeaderList,
			begin: noWindow, growth: 8 << 20,
			again: bomb("cookie", "/wait", 190, "content-length: 0", "content-length: 1"),
		},
		{name: "HPACK bomb beyond the limit", cause: server.CauseRefused, or: server.CauseResets, most: 256 << 10, again: bomb("cookie", "/wait", 80)},
		{
			name: "HPACK bomb beyond the limit without a window", cause: server.CauseRefused, or: server.CauseResets, most: 256 << 10, begin: noWindow,
			growth: 8 << 20, again: bomb("cookie", "/wait", 80),
		},
		{name: "a field beyond the limit", cause: server.CauseHeaderList, again: func(p *peer, i uint32) error {
			// Its length is what counts, which comes first (RFC 7541, section 5.2).
			return p.WriteHeaders(http2.HeadersFrameParam{
				StreamID: nth(i), EndStream: true, EndHeaders: true, BlockFragment: []byte{0x40, 0x7f, 0x81, 0xff, 0x7f, 'a'},
			})
		}},
		{
			name: "table beyond the limit", cause: server.CauseProtocol, code: "COMPRESSION_ERROR",
			again: func(p *peer, i uint32) error {
				return p.WriteHeaders(http2.HeadersFrameParam{
					StreamID: nth(i), EndStream: true, EndHeaders: true, BlockFragment: []byte{0x3f, 0xe2, 0x1f, 0x82},
				})
			},
		},
		{name: "table of 0 and back", again: func(p *peer, i uint32) error {
			return p.WriteHeaders(http2.HeadersFrameParam{
				StreamID: nth(i), EndStream: true, EndHeaders: true, BlockFragment: []byte{0x20, 0x3f, 0xe1, 0x1f},
			})
		}},
	}
}

// TestFloods has hostile clients of each kind. Their connection ends, holds little memory until then, others are served
// meanwhile, and no handler is left.
func TestFloods(t *testing.T) {
	for _, f := range append(append(resets(), controls()...), heads()...) {
		t.Run(f.name, func(t *testing.T) {
			g := newRig(t, &server.Server{MaxHeaderBytes: f.most, Handler: http.HandlerFunc(floodHandler)})
			honest := g.client()
			g.get(honest, "/")
			before := http1test.Heap()
			p := g.peer()
			p.flush()
			code, came := http2.ErrCode(0), false
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				code, came = p.away()
			}()
			rest := g.keepServed(honest)
			end := sync.OnceFunc(func() {
				rest()
				_ = p.conn.Close()
				<-gone
			})
			defer end()
			if f.begin != nil {
				f.begin(p)
			}
			for i := range uint32(floodFrames) {
				if f.again(p, i) != nil {
					break
				}
			}
			_ = p.writer.Flush()
			want, cause := f.code, f.cause
			if want == "" {
				want = "ENHANCE_YOUR_CALM"
			}
			if cause == server.CauseNone {
				cause = server.CauseResets
			}
			why := http1test.Receive(t, g.failed, "the end of the connection")
			if why.Code.String() != want || why.Cause != cause && (f.or == server.CauseNone || why.Cause != f.or) {
				t.Errorf("it ended with %s, the cause %s", why.Code, why.Cause)
			}
			growth := f.growth
			if growth == 0 {
				growth = 4 << 20
			}
			rest() // On a busy machine, much of its garbage would be counted.
			if held := http1test.Heap() - before; held > growth {
				t.Errorf("%d KiB are held", held>>10)
			}
			end()
			if came && code.String() != want { // GOAWAY may be lost where the client goes on to send.
				t.Errorf("GOAWAY says %v", code)
			}
			// That of the honest client is left.
			http1test.Eventually(t, "all handlers end", func() bool { return server.Running(g.server) == 0 })
		})
	}
}

// keepServed has an honest client get one response after the other until rest is called, and leaves time for others.
func (g *rig) keepServed(honest *http.Client) (rest func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			if _, body := g.get(honest, "/"); body != "hello" {
				g.t.Errorf("another client got %q", body)
				return
			}
			select {
			case <-over:
				return
			case <-ticker.C:
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(over)
		<-ended
	})
}

// floodHandler does what the path says, until the client has left.
func floodHandler(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/wait":
		<-r.Context().Done()
	case "/read":
		_, _ = io.Copy(io.Discard, r.Body)
	default:
		hello(w, r)
	}
}

// TestFloodsHold has hostile clients that hold what they can, and do not end by themselves.
func TestFloodsHold(t *testing.T) {
	const streams = 100
	for name, test := range map[string]struct {
		settings []http2.Setting
		path     string
		fields   []string
		// most is how many bytes may be held.
		most int64
	}{
		"reads nothing":      {[]http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1}}, "/large", nil, 4 << 20},
		"window of 0":        {[]http2.Setting{{ID: http2.SettingInitialWindowSize}}, "/large", nil, 4 << 20},
		"window of 1":        {[]http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1}}, "/large", nil, 4 << 20},
		"cookies in reserve": {nil, "/wait", []string{"cookie: " + strings.Repeat("c", 4000)}, 4 << 20},
		"refused cookies": {
			[]http2.Setting{{ID: http2.SettingInitialWindowSize}},
			"/wait",
			append(strings.Split(strings.Repeat("cookie: "+strings.Repeat("c", 4000)+"\n", 300), "\n")[:300], "a: b"), 4 << 20,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := serve(t, floodOrLarge())
			honest := g.client()
			g.get(honest, "/")
			before := http1test.Heap()
			p := g.peer(test.settings...)
			for i := range uint32(streams) {
				p.request(nth(i), "GET", test.path, true, test.fields...)
			}
			p.flush()
			http1test.Eventually(t, "the handlers run", func() bool { return server.Running(g.server) == streams })
			for range 3 {
				if _, body := g.get(honest, "/"); body != "hello" {
					t.Errorf("another client got %q", body)
				}
			}
			if held := http1test.Heap() - before; held > test.most {
				t.Errorf("%d KiB are held", held>>10)
			}
			_ = p.conn.Close()
			http1test.Eventually(t, "all handlers end", func() bool { return server.Running(g.server) == 0 })
			http1test.Eventually(t, "nothing is charged", func() bool { return server.Charged(g.server) == 0 })
		})
	}
}

// TestFloodsEnd has clients that do not read, whose streams end by the time-out for writing.
func TestFloodsEnd(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	g := newRig(t, &server.Server{
		WriteTimeout: 50 * time.Millisecond,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var err error
			for err == nil {
				_, err = w.Write(make([]byte, 1<<20))
			}
			ended <- err
		}),
	})
	p := g.peer()
	p.request(1, "GET", "/", true)
	p.flush()
	if err := http1test.Receive(t, ended, "the end of the handler"); err == nil {
		t.Error("no error")
	}
}

// TestSmallWindows has a client that requests much at a time and opens its windows a little again and again, so that
// each response keeps on waiting. It is served as slowly as it wants, and holds little.
func TestSmallWindows(t *testing.T) {
	const streams, rounds, step = 100, 20, 100
	g := serve(t, floodOrLarge())
	honest := g.client()
	g.get(honest, "/")
	before := http1test.Heap()
	p := g.peer(http2.Setting{ID: http2.SettingInitialWindowSize})
	p.must(p.WriteWindowUpdate(0, 1<<20))
	for i := range uint32(streams) {
		p.request(nth(i), "GET", "/large", true)
	}
	for round := range rounds {
		for i := range uint32(streams) {
			p.must(p.WriteWindowUpdate(nth(i), step))
		}
		p.flush()
		for came := 0; came < streams*step; {
			if f, ok := p.next().(*http2.DataFrame); ok {
				came += len(f.Data())
			}
		}
		if _, body := g.get(honest, "/"); body != "hello" {
			t.Errorf("another client got %q", body)
		}
		if held := http1test.Heap() - before; round == rounds-1 && held > 4<<20 {
			t.Errorf("%d KiB are held", held>>10)
		}
	}
	_ = p.conn.Close()
	http1test.Eventually(t, "all handlers end", func() bool { return server.Running(g.server) == 0 })
}

// floodOrLarge answers /large with 32 MB, and others as floodHandler does.
func floodOrLarge() http.HandlerFunc {
	piece := make([]byte, 32<<10)
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/large" {
			floodHandler(w, r)
			return
		}
		for range 1000 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
}
