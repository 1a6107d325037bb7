package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/server"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

// sender returns what sends requests over one connection.
func sender(t *testing.T) func(http.Handler) http1test.Send {
	return func(handler http.Handler) http1test.Send {
		g := newRig(t, &server.Server{Handler: handler})
		client := g.client()
		return func(t *testing.T, r *http.Request) (*http.Response, string) {
			t.Helper()
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer http1test.Discard(response.Body)
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return response, string(body)
		}
	}
}

func TestLateCalls(t *testing.T) {
	t.Parallel()
	http1test.LateCalls(t, serving.ErrFinished, sender(t), nil)
}

func TestKeptStrings(t *testing.T) {
	t.Parallel()
	http1test.KeptStrings(t, sender(t))
}

func TestTimeoutHandler(t *testing.T) {
	t.Parallel()
	http1test.TimeoutHandler(t, sender(t))
}

// engine is what the writer of a handler can do beyond net/http.
type engine interface{ Recycle() }

// holding is all that a handler can keep of an exchange.
type holding struct {
	writer           http.ResponseWriter
	request          *http.Request
	url              *url.URL
	body             io.ReadCloser
	header, response http.Header
	value            []string
	context          context.Context
}

func hold(w http.ResponseWriter, r *http.Request) holding {
	w.Header().Set("Mine", "1")
	return holding{w, r, r.URL, r.Body, r.Header, w.Header(), r.Header["Kept"], r.Context()}
}

// TestRecycling has a handler use what it has given back.
func TestRecycling(t *testing.T) {
	t.Parallel()
	kept := make(chan holding, 1)
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/kept" {
			_, _ = io.Copy(io.Discard, r.Body)
			kept <- hold(w, r)
			w.(engine).Recycle()
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	p := g.peer()
	p.request(1, "POST", "/kept?a=b", false, "kept: 1")
	p.must(p.WriteData(1, true, []byte("body")))
	if f := p.status(1, "200"); !f.StreamEnded() {
		p.data(1, "", true)
	}
	p.must(p.WritePing(false, [8]byte{}))
	expect[*http2.PingFrame](p)
	h := http1test.Receive(t, kept, "the handler")
	const mark = "recycled"
	http1test.Eventually(t, "the context ends", func() bool { return h.context.Err() != nil })
	p.request(3, "GET", "/", true) // What wrote the response has given it back.
	p.status(3, "200")
	marks := http.Header{mark: {mark}}
	if r := h.request; r.Method != mark || r.Host != mark || r.RequestURI != mark || r.Header != nil || r.Body != nil {
		t.Errorf("the request is %+v", r)
	}
	if h.url.Path != mark || h.url.RawQuery != mark || !slices.Equal(h.value, []string{mark}) {
		t.Errorf("the URL is %v, the value %q", h.url, h.value)
	}
	for what, header := range map[string]http.Header{"request": h.header, "response": h.response} {
		if !maps.EqualFunc(header, marks, slices.Equal) {
			t.Errorf("the header of the %s is %v", what, header)
		}
	}
	for i := range uint32(10) {
		r := &http.Request{Body: h.body}
		http1test.Late{W: h.writer, R: r.WithContext(h.context)}.Misuse(t, serving.ErrFinished)
		id := nth(i + 10)
		p.request(id, "POST", "/", false)
		p.must(p.WriteData(id, true, []byte("me")))
		p.status(id, "200")
		p.data(id, "me", true)
	}
}

// TestRecyclingTakenBack has a handler call Recycle, and then not end as it should.
func TestRecyclingTakenBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(holding){
		"panics":               func(holding) { panic(http.ErrAbortHandler) },
		"leaves a call behind": func(h holding) { server.BeginRead(h.writer) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := make(chan holding, 1)
			g := serve(t, func(w http.ResponseWriter, r *http.Request) {
				h := hold(w, r)
				kept <- h
				w.(engine).Recycle()
				end(h)
			})
			p := g.peer()
			p.request(1, "GET", "/kept", true, "kept: 1")
			p.flush()
			h := http1test.Receive(t, kept, "the handler")
			p.next()
			http1test.Eventually(t, "the handler ends", func() bool { return server.Running(g.server) == 0 })
			_ = p.conn.Close()
			g.UntilClosed()
			if h.request.Method != http.MethodGet || h.url.Path != "/kept" || h.header.Get("Kept") != "1" ||
				h.response.Get("Mine") != "1" {
				t.Errorf("kept %+v", h)
			}
		})
	}
}

// TestBlockedCalls lets handlers return while a goroutine of them is blocked in Read or Write.
func TestBlockedCalls(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/read":
			first := make([]byte, 1)
			if _, err := io.ReadFull(r.Body, first); err != nil {
				t.Error(err)
			}
			go func() {
				_, err := io.Copy(io.Discard, r.Body)
				failed <- err
			}()
			http1test.Eventually(t, "Read waits", func() bool { return server.Reading(w) })
		case "/write":
			go func() {
				_, err := w.Write(make([]byte, 1<<20))
				failed <- err
			}()
			http1test.Eventually(t, "Write waits", func() bool { return server.Waiting(w) })
		default:
			hello(w, r)
		}
	})
	p := g.peer()
	p.request(1, "POST", "/read", false)
	p.must(p.WriteData(1, false, []byte("x")))
	p.status(1, "200")
	if err := http1test.Receive(t, failed, "Read"); !errors.Is(err, serving.ErrFinished) {
		t.Errorf("Read: %v", err)
	}
	p.reset(1, http2.ErrCodeNo)
	p.request(3, "GET", "/write", true)
	p.flush()
	if err := http1test.Receive(t, failed, "Write"); err == nil {
		t.Error("Write ended well")
	}
	got := 0
	for more := true; more; {
		switch f := p.next().(type) {
		case *http2.DataFrame:
			got += len(f.Data())
		case *http2.RSTStreamFrame:
			more = false
			if f.StreamID != 3 || f.ErrCode != http2.ErrCodeInternal {
				t.Errorf("reset of %d with %v", f.StreamID, f.ErrCode)
			}
		}
	}
	p.must(p.WriteWindowUpdate(0, 1<<20))
	p.request(5, "GET", "/", true)
	p.status(5, "200")
	p.data(5, "hello", true)
}

// TestFloodThenRequest sends many fields and then few, whose handler must not find any of the others.
func TestFloodThenRequest(t *testing.T) {
	t.Parallel()
	s := &server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			w.Header()[name] = []string{"seen"}
		}
		w.(engine).Recycle()
	})}
	client, over := pipe(s)
	p := newPeer(t, client)
	for i := range uint32(40) {
		var fields []string
		n := []int{0, 3, 60, 200}[i%4]
		for k := range n {
			fields = append(fields, fmt.Sprintf("x-%d-%d: x", i, k))
		}
		p.request(nth(i), "GET", "/", true, fields...)
		// :status, content-length and date come on top.
		if f := p.status(nth(i), "200"); len(f.Fields) != n+3 {
			t.Errorf("%d fields became %d", n, len(f.Fields))
		} else if !f.StreamEnded() {
			p.data(nth(i), "", true)
		}
	}
	http1test.Discard(client)
	http1test.Receive(t, over, "the end")
	_ = s.Close()
}
