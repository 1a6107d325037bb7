package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/http1/internal/http1test"
)

// engine is what a handler may ask of its writer beyond net/http.
type engine interface {
	http.ResponseWriter
	Recycle()
	Attach(state *RequestState)
}

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

// TestServerRecycles has a handler break its word: it keeps what it has given back.
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
	conn, reader := g.open(postKept)
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
		late{w: h.writer, r: r.WithContext(h.context)}.misuse(t)
		say(t, conn, post("Content-Length: 2")+"me")
		if response, body := answer(t, reader); body != `POST / a "me" <nil>` || response.Header.Get("Late") != "" ||
			response.Header.Get("Mine") != "" {
			t.Fatalf("another response is %v, %q", response.Header, body)
		}
	}
}

// TestServerTakesRecyclingBack has a handler say that it keeps nothing, and then not end as it should.
func TestServerTakesRecyclingBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(holding){
		"panics": func(holding) { panic(http.ErrAbortHandler) },
		"hijacks": func(h holding) {
			if conn, _, err := http.NewResponseController(h.writer).Hijack(); err == nil {
				defer http1test.Discard(conn)
			}
		},
		"leaves a call behind": func(h holding) { h.writer.(*exchange).guard.Read() },
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
			_, reader := g.open(postKept)
			_, _ = io.ReadAll(reader)
			g.untilClosed(t)
			h := http1test.Receive(t, kept, "the handler")
			if h.request.Method != http.MethodPost || h.url.Path != "/kept" || h.header.Get("Kept") != "1" ||
				h.response.Get("Mine") != "1" {
				t.Errorf("kept %+v", h)
			}
		})
	}
}

// numbers answers with one number, whatever is asked.
type numbers int

func (n numbers) Value(any) any { return int(n) }

func (n numbers) Completed(Completion) {}

// TestServerContextOutlivesRecycling keeps contexts while their exchanges serve other requests.
func TestServerContextOutlivesRecycling(t *testing.T) {
	t.Parallel()
	type key struct{}
	type kept struct {
		context.Context
		exchange *exchange
	}
	var all []kept
	reused := false
	// It has no descriptor, so that a byte is read ahead for whom asks for the end; and no poison, so that exchanges are
	// used again.
	client, conn := net.Pipe()
	defer http1test.Discard(client)
	server := &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number, x := len(all), w.(*exchange)
		values := RequestState(numbers(number))
		x.Attach(&values)
		own := r.Context()
		called := make(chan struct{})
		context.AfterFunc(own, func() { close(called) })
		for _, old := range all {
			reused = reused || old.exchange == x
			if !errors.Is(old.Err(), context.Canceled) || old.Value(key{}) != nil {
				t.Errorf("request %d: an old context has %v and says %v", number, old.Err(), old.Value(key{}))
			}
			<-old.Done()
			old.Context.(*requestContext).cancel()
			old.Context.(*requestContext).bodyOver()
			over := make(chan struct{})
			context.AfterFunc(old, func() { close(over) })
			http1test.Receive(t, over, "a call after the end")
		}
		select {
		case <-called:
			t.Errorf("request %d was ended", number)
		default:
		}
		if own.Err() != nil || own.Value(key{}) != number {
			t.Errorf("request %d: %v, %v", number, own.Err(), own.Value(key{}))
		}
		all = append(all, kept{own, x})
		x.Recycle()
		if own.Value(key{}) != nil {
			t.Errorf("request %d knows values that are given back", number)
		}
		_, _ = fmt.Fprint(w, number)
	})}
	over := make(chan struct{})
	go func() {
		server.ServeConn(context.Background(), conn)
		close(over)
	}()
	reader := bufio.NewReader(client)
	for i := range 50 {
		say(t, client, get)
		if _, body := answer(t, reader); body != fmt.Sprint(i) {
			t.Errorf("request %d got %q", i, body)
		}
	}
	http1test.Discard(client)
	http1test.Receive(t, over, "the end")
	if !reused {
		t.Error("no exchange was used again")
	}
}

// TestServerKeepsNoLargeMap looks at what an exchange keeps of a flood of fields.
func TestServerKeepsNoLargeMap(t *testing.T) {
	t.Parallel()
	flood := func(n int) http.Header {
		header := http.Header{}
		for i := range n {
			header[fmt.Sprint("X-", i)] = []string{"x"}
		}
		return header
	}
	for n, keeps := range map[int]bool{1: true, keptFields: true, keptFields + 1: false, 10 * keptFields: false} {
		var pool pools
		for _, fields := range []int{n, 1} {
			x := &exchange{fields: flood(fields), response: response{header: flood(n + 1 - fields)}}
			pool.putExchange(x)
			if len(x.fields) > 0 || len(x.response.header) > 0 {
				t.Errorf("%d fields: something is left", n)
			}
			if large := x.fields; fields == n && (large != nil) != keeps {
				t.Errorf("the header of a request with %d fields is kept: %v", n, large != nil)
			}
			if large := x.response.header; fields == 1 && (large != nil) != keeps {
				t.Errorf("the header of a response with %d fields is kept: %v", n, large != nil)
			}
		}
	}
}

// TestServerFloodThenRequest sends many fields and then few, which must not find any of the others.
func TestServerFloodThenRequest(t *testing.T) {
	t.Parallel()
	client, conn := net.Pipe()
	defer http1test.Discard(client)
	server := &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			w.Header()[name] = []string{"seen"}
		}
		_, _ = fmt.Fprint(w, len(r.Header))
		w.(engine).Recycle()
	})}
	over := make(chan struct{})
	go func() {
		server.ServeConn(context.Background(), conn)
		close(over)
	}()
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
