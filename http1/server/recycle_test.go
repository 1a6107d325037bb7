package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

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

const postKept = "POST /kept?a=b HTTP/1.1\r\nHost: a\r\nKept: 1\r\nContent-Length: 4\r\n\r\nbody"

// TestServerRecycles has a handler use what it has given back.
func TestServerRecycles(t *testing.T) {
	t.Parallel()
	kept := make(chan holding, 1)
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/kept" {
			echo(w, r)
			return
		}
		kept <- hold(w, r)
		w.(engine).Recycle()
	})
	conn, reader := g.Open(postKept)
	answer(t, reader)
	say(t, conn, get)
	answer(t, reader)
	h := http1test.Receive(t, kept, "the handler")
	const mark = "recycled"
	marks := http.Header{mark: {mark}}
	r := h.request
	if r.Method != mark || r.Host != mark || r.RequestURI != mark || r.RemoteAddr != mark || r.Header != nil ||
		r.Body != nil {
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
	if !errors.Is(h.context.Err(), context.Canceled) {
		t.Errorf("the context: %v", h.context.Err())
	}
	for range 10 {
		r := &http.Request{Body: h.body}
		http1test.Late{W: h.writer, R: r.WithContext(h.context)}.Misuse(t, serving.ErrFinished)
		say(t, conn, post("Content-Length: 2")+"me")
		if response, body := answer(t, reader); body != `POST / a "me" <nil>` || response.Header.Get("Late") != "" ||
			response.Header.Get("Mine") != "" {
			t.Fatalf("another response is %v, %q", response.Header, body)
		}
	}
}

// TestServerTakesRecyclingBack has a handler call Recycle, and then not end as it should.
func TestServerTakesRecyclingBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(holding){
		"panics": func(holding) { panic(http.ErrAbortHandler) },
		"hijacks": func(h holding) {
			if conn, _, err := http.NewResponseController(h.writer).Hijack(); err == nil {
				defer http1test.Discard(conn)
			}
		},
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
			_, reader := g.Open(postKept)
			_, _ = io.ReadAll(reader)
			g.UntilClosed()
			h := http1test.Receive(t, kept, "the handler")
			if h.request.Method != http.MethodPost || h.url.Path != "/kept" || h.header.Get("Kept") != "1" ||
				h.response.Get("Mine") != "1" {
				t.Errorf("kept %+v", h)
			}
		})
	}
}

// TestServerFloodThenRequest sends many fields and then few, which must not find any of the others.
func TestServerFloodThenRequest(t *testing.T) {
	t.Parallel()
	client, over := pipe(&server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			w.Header()[name] = []string{"seen"}
		}
		_, _ = fmt.Fprint(w, len(r.Header))
		w.(engine).Recycle()
	})})
	defer http1test.Discard(client)
	reader := bufio.NewReader(client)
	for i := range 40 {
		var fields strings.Builder
		n := []int{0, 3, 60, 200}[i%4]
		for k := range n {
			_, _ = fmt.Fprintf(&fields, "X-%d-%d: x\r\n", i, k)
		}
		say(t, client, "GET / HTTP/1.1\r\nHost: a\r\n"+fields.String()+"\r\n")
		response, body := answer(t, reader)
		// Content-Length and Date come on top.
		if body != fmt.Sprint(n) || len(response.Header) != n+2 {
			t.Errorf("%d fields became %s, and %d in the response", n, body, len(response.Header))
		}
	}
	http1test.Discard(client)
	http1test.Receive(t, over, "the end")
}
