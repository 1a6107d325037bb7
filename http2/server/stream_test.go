package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/server"
)

// TestTrailers sends trailers both ways.
func TestTrailers(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-A, X-A")
		w.WriteHeader(http.StatusEarlyHints)
		if _, announced := r.Trailer["X-Asked"]; !announced {
			t.Errorf("announced: %v", r.Trailer)
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
		w.Header().Set("X-A", r.Trailer.Get("X-Asked"))
		w.Header().Set(http.TrailerPrefix+"X-B", "b")
		w.Header().Set(http.TrailerPrefix+"Content-Length", "1")
		w.Header().Set(http.TrailerPrefix+"Bad Name", "1")
	})
	p := g.peer()
	p.request(1, "POST", "/", false, "trailer: x-asked")
	p.must(p.WriteData(1, false, []byte("body")))
	p.must(p.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: p.head("x-asked: 1"),
	}))
	p.status(1, "103")
	p.status(1, "200")
	p.data(1, "body", false)
	f := expect[*http2.MetaHeadersFrame](p)
	if text := fmt.Sprint(f.Fields); !f.StreamEnded() ||
		text != `[header field "x-a" = "1" header field "x-b" = "b"]` {
		t.Errorf("trailers: %s", text)
	}
}

// TestFieldsOfResponses has a handler set fields that none may send.
func TestFieldsOfResponses(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["X-Bad"], h["Bad Name"], h[":path"], h[""] = []string{"a\r\nb\x00"}, []string{"1"}, []string{"/"}, []string{"1"}
	})
	p := g.peer()
	p.request(1, "GET", "/", true)
	f := p.status(1, "200")
	for _, field := range f.RegularFields() {
		switch {
		case field.Name == "x-bad" && field.Value == "a  b ", field.Name == "date", field.Name == "content-length":
		default:
			t.Errorf("got %v", field)
		}
	}
}

// TestInformational sends 1xx, also below a response that fills the connection.
func TestInformational(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bulk" {
			piece := make([]byte, 32<<10)
			for {
				select {
				case <-over:
					return
				default:
					if _, err := w.Write(piece); err != nil {
						return
					}
				}
			}
		}
		for range 10 {
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.WriteHeader(http.StatusSwitchingProtocols) // impossible
		hello(w, r)
	})
	p := g.peer(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
	p.must(p.WriteWindowUpdate(0, 1<<30))
	p.request(1, "GET", "/bulk", true)
	p.request(3, "GET", "/", true)
	p.flush()
	hints := 0
	for more := true; more; {
		switch f := p.next().(type) {
		case *http2.MetaHeadersFrame:
			if f.PseudoValue("status") == "103" {
				hints++
			}
		case *http2.DataFrame:
			more = f.StreamID != 3
		}
	}
	close(over)
	if hints != 10 {
		t.Errorf("%d hints", hints)
	}
}

// TestContinue has a client that waits for 100 Continue.
func TestContinue(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			_, _ = io.Copy(w, r.Body)
		}
	})
	p := g.peer()
	p.request(1, "POST", "/read", false, "expect: 100-continue")
	p.status(1, "100")
	p.must(p.WriteData(1, true, []byte("body")))
	p.status(1, "200")
	p.data(1, "body", true)
	p.request(3, "POST", "/refuse", false, "expect: 100-continue")
	p.status(3, "200")
	p.reset(3, http2.ErrCodeNo)
}

// TestBodiless has responses without a body.
func TestBodiless(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		}
		if _, err := io.WriteString(w, "body"); (err == nil) != (r.URL.Path == "/") {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
	})
	p := g.peer()
	for i, test := range []struct{ method, path, status, length string }{
		{"HEAD", "/", "200", "4"}, {"GET", "/204", "204", ""}, {"GET", "/304", "304", ""}, {"HEAD", "/204", "204", ""},
	} {
		id := nth(uint32(i)) //nolint:gosec // small
		p.request(id, test.method, test.path, true)
		f := p.status(id, test.status)
		length := ""
		for _, field := range f.Fields {
			if field.Name == "content-length" {
				length = field.Value
			}
		}
		if !f.StreamEnded() || length != test.length {
			t.Errorf("%v: %v", test, f.Fields)
		}
	}
}

// TestContentLength has lengths that are not those of the bodies, both ways.
func TestContentLength(t *testing.T) {
	t.Parallel()
	read := make(chan error, 10)
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.Header().Set("Content-Length", "4")
			n, err := io.WriteString(w, strings.TrimPrefix(r.URL.Path, "/"))
			t.Log(n, err)
			return
		}
		_, err := io.ReadAll(r.Body)
		read <- err
		<-r.Context().Done()
	})
	p := g.peer()
	for i, body := range []string{"abc", "abcde"} {
		id := nth(uint32(i)) //nolint:gosec // small
		p.request(id, "POST", "/", false, "content-length: 4")
		p.must(p.WriteData(id, true, []byte(body)))
		p.reset(id, http2.ErrCodeProtocol)
		if err := http1test.Receive(t, read, "the handler"); err == nil {
			t.Errorf("%q was read", body)
		}
	}
	p.request(11, "GET", "/", true, "content-length: 4")
	p.status(11, "400")
	p.data(11, "Bad Request\n", true)
	p.request(13, "POST", "/", false, "content-length: 0")
	p.must(p.WriteData(13, true, []byte("x")))
	p.reset(13, http2.ErrCodeProtocol)
	for i, body := range []string{"abc", "abcde"} {
		id := nth(uint32(i + 10)) //nolint:gosec // small
		p.request(id, "GET", "/"+body, true)
		p.reset(id, http2.ErrCodeInternal)
	}
	p.request(101, "GET", "/abcd", true)
	p.status(101, "200")
	p.data(101, "abcd", true)
}

// TestBadRequests has heads that a handler must not get.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fields []string
		want   string
	}{
		"method":          {[]string{":method: G T", ":scheme: http", ":authority: a", ":path: /"}, "400"},
		"request line":    {[]string{":method: GET / HTTP/1.1", ":scheme: http", ":authority: a", ":path: /"}, "400"},
		"space in path":   {[]string{":method: GET", ":scheme: http", ":authority: a", ":path: /a b"}, "400"},
		"space in query":  {[]string{":method: GET", ":scheme: http", ":authority: a", ":path: /?a b"}, "400"},
		"fragment":        {[]string{":method: GET", ":scheme: http", ":authority: a", ":path: /#a"}, "400"},
		"relative path":   {[]string{":method: GET", ":scheme: http", ":authority: a", ":path: a"}, "400"},
		"absolute path":   {[]string{":method: GET", ":scheme: http", ":authority: a", ":path: http://b/"}, "400"},
		"asterisk":        {[]string{":method: GET", ":scheme: http", ":authority: a", ":path: *"}, "400"},
		"host with space": {[]string{":method: GET", ":scheme: http", ":authority: a b", ":path: /"}, "400"},
		"userinfo":        {[]string{":method: GET", ":scheme: http", ":authority: u@a", ":path: /"}, "400"},
		"host with path":  {[]string{":method: GET", ":scheme: http", ":authority: a/b", ":path: /"}, "400"},
		"another host": {
			[]string{":method: GET", ":scheme: http", ":authority: a", ":path: /", "host: b"}, "PROTOCOL_ERROR",
		},
		"two hosts": {[]string{":method: GET", ":scheme: http", ":path: /", "host: a", "host: b"}, "PROTOCOL_ERROR"},
		"two authorities": {
			[]string{":method: GET", ":scheme: http", ":authority: ", ":authority: a", ":path: /"}, "PROTOCOL_ERROR",
		},
		"control":          {[]string{":method: GET", ":scheme: http", ":authority: a", ":path: /\x00"}, "PROTOCOL_ERROR"},
		"CONNECT and path": {[]string{":method: CONNECT", ":authority: a:1", ":path: /"}, "PROTOCOL_ERROR"},
		"nothing":          {nil, "PROTOCOL_ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("got %+v", r) })
			p := g.peer()
			p.must(p.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: p.head(test.fields...),
			}))
			got := ""
			switch f := p.next().(type) {
			case *http2.MetaHeadersFrame:
				got = f.PseudoValue("status")
			case *http2.RSTStreamFrame:
				got = f.ErrCode.String()
			}
			if got != test.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestLargeHeads sends heads in CONTINUATION both ways, in as many frames as the client accepts.
func TestLargeHeads(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("\xff", 100_000) // It is not compressed.
	g := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Large", r.Header.Get("X-Large")) })
	p := g.peer()
	block := bytes.Clone(p.head(":method: GET", ":scheme: http", ":authority: a", ":path: /", "x-large: "+large))
	p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, BlockFragment: block[:1]}))
	for block = block[1:]; len(block) > 10_000; block = block[10_000:] {
		p.must(p.WriteContinuation(1, false, block[:10_000]))
	}
	p.must(p.WriteContinuation(1, true, block))
	p.SetMaxReadFrameSize(16 << 10)
	p.MaxHeaderListSize = 1 << 20
	for _, field := range p.status(1, "200").Fields {
		if field.Name == "x-large" && field.Value != large {
			t.Errorf("it became %d bytes", len(field.Value))
		}
	}
}

// TestHeaderTableSize has a client without a table, which the next head must confirm (RFC 7541, section 4.2).
func TestHeaderTableSize(t *testing.T) {
	t.Parallel()
	g := serve(t, hello)
	p := g.peer(http2.Setting{ID: http2.SettingHeaderTableSize})
	p.ReadMetaHeaders = nil
	for i := range uint32(2) {
		p.request(nth(i), "GET", "/", true)
		f := expect[*http2.HeadersFrame](p)
		if updates := f.HeaderBlockFragment()[0] == 0x20; updates != (i == 0) {
			t.Errorf("head %d begins with %x", i, f.HeaderBlockFragment()[0])
		}
		p.data(nth(i), "hello", true)
	}
}

// TestWindows has windows of a byte, and one that shrinks below 0 while a response waits for it.
func TestWindows(t *testing.T) {
	t.Parallel()
	g := serve(t, hello)
	p := g.peer(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	p.request(1, "GET", "/", true)
	p.status(1, "200")
	p.data(1, "h", false)
	for _, c := range "ell" {
		p.must(p.WriteWindowUpdate(1, 1))
		p.data(1, string(c), false)
	}
	// The window is 0, and becomes -1; nothing comes before it is above 0.
	p.must(p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	p.must(p.WriteWindowUpdate(1, 1))
	p.must(p.WritePing(false, [8]byte{1}))
	expect[*http2.PingFrame](p)
	p.must(p.WriteWindowUpdate(1, 1))
	p.data(1, "o", true)
}

// TestMaxFrameSize has a client accept larger frames while a response waits.
func TestMaxFrameSize(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 40<<10)) })
	p := g.peer(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	p.must(p.WriteWindowUpdate(0, 1<<20))
	p.request(1, "GET", "/", true)
	p.status(1, "200")
	most := 0
	for ended := false; !ended; {
		f := expect[*http2.DataFrame](p)
		most, ended = max(most, len(f.Data())), f.StreamEnded()
	}
	p.must(p.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 64 << 10}))
	p.request(3, "GET", "/", true)
	p.status(3, "200")
	if f := expect[*http2.DataFrame](p); most != 16<<10 || len(f.Data()) != 40<<10 {
		t.Errorf("at most %d, then %d", most, len(f.Data()))
	}
}

// TestDeadlines has handlers set deadlines.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		controller := http.NewResponseController(w)
		if r.URL.Path == "/read" {
			if err := controller.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
				t.Error(err)
			}
			_, err := r.Body.Read(make([]byte, 1))
			failed <- err
			_ = controller.SetReadDeadline(time.Time{})
			if _, again := io.ReadAll(r.Body); again != nil {
				t.Errorf("then %v", again)
			}
			return
		}
		if err := controller.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		var err error
		for err == nil {
			_, err = w.Write(make([]byte, 1<<20))
		}
		failed <- err
	})
	p := g.peer()
	p.request(1, "GET", "/write", true)
	p.flush()
	if err := http1test.Receive(t, failed, "Write"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write: %v", err)
	}
	for {
		if f, ok := p.next().(*http2.RSTStreamFrame); ok {
			if f.ErrCode != http2.ErrCodeInternal {
				t.Errorf("reset with %v", f.ErrCode)
			}
			break
		}
	}
	p.request(3, "POST", "/read", false)
	p.flush()
	if err := http1test.Receive(t, failed, "Read"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read: %v", err)
	}
	p.must(p.WriteData(3, true, []byte("late")))
	p.status(3, "200")
}

// TestSlowBodies has clients that stop within a body.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	g := newRig(t, &server.Server{
		ReadTimeout: 50 * time.Millisecond,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			failed <- err
		}),
	})
	p := g.peer()
	p.request(1, "POST", "/", false)
	p.must(p.WriteData(1, false, []byte("a")))
	p.flush()
	if err := http1test.Receive(t, failed, "the handler"); !errors.Is(err, server.ErrTooSlow) {
		t.Errorf("got %v", err)
	}
}

// TestManyStreams sends and receives bodies that are larger than the windows, on many streams at a time.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
		if r.ContentLength >= 0 {
			w.(engine).Recycle()
		}
	})
	client := g.client()
	var work sync.WaitGroup
	for i := range 50 {
		work.Go(func() {
			for k := range 3 {
				body := bytes.Repeat([]byte{byte('a' + i%26)}, 1+i*10_000)
				var reader io.Reader = bytes.NewReader(body)
				if k == 0 {
					reader = struct{ io.Reader }{reader} // of an unknown length
				}
				r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+g.Address+"/", reader)
				if err != nil {
					t.Error(err)
					return
				}
				if status, got := do(t, client, r); status != http.StatusOK || got != string(body) {
					t.Errorf("%d: %d bytes became %d", status, len(body), len(got))
				}
			}
		})
	}
	work.Wait()
}
