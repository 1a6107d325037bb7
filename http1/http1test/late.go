package http1test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Send sends a request to the server of a handler, over the connection of the requests before if it still serves, and
// returns the response with its body.
type Send func(t *testing.T, r *http.Request) (*http.Response, string)

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Late is what a handler leaves behind.
type Late struct {
	W http.ResponseWriter
	R *http.Request
	// Header is the header of the response, as it was while the handler ran.
	Header http.Header
}

// Misuse makes every call that a goroutine of the handler can make too late, each of which must fail with an error.
func (l Late) Misuse(t *testing.T, finished error) {
	t.Helper()
	controller := http.NewResponseController(l.W)
	l.W.Header().Set("Late", "1")
	l.W.WriteHeader(http.StatusTeapot)
	l.W.WriteHeader(http.StatusEarlyHints)
	if f, ok := l.W.(http.Flusher); ok {
		f.Flush()
	}
	_, wrote := l.W.Write([]byte("late"))
	_, wroteString := io.WriteString(l.W, "late")
	_, copied := io.Copy(l.W, strings.NewReader("late"))
	_, read := l.R.Body.Read(make([]byte, 10))
	hijacked := finished
	if _, able := l.W.(http.Hijacker); able {
		_, _, hijacked = controller.Hijack()
	}
	for call, err := range map[string]error{
		"Write": wrote, "WriteString": wroteString, "ReadFrom": copied, "Read": read, "Hijack": hijacked,
		"Flush": controller.Flush(), "SetReadDeadline": controller.SetReadDeadline(time.Now()),
		"SetWriteDeadline": controller.SetWriteDeadline(time.Now()), "EnableFullDuplex": controller.EnableFullDuplex(),
	} {
		if !errors.Is(err, finished) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if err := l.R.Body.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if l.R.Context().Err() == nil {
		t.Error("the context is alive")
	}
	<-l.R.Context().Done()
}

// LateCalls lets goroutines of a handler go on after it has returned, while other requests use the same connection.
// also, unless it is nil, is called with the request of the handler too.
func LateCalls(t *testing.T, finished error, start func(http.Handler) Send, also func(*http.Request)) {
	t.Helper()
	left := make(chan Late, 1)
	send := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/leave" {
			w.Header().Set("Mine", "1")
			left <- Late{w, r, w.Header()}
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	send(t, request(t, http.MethodPost, "http://a/leave", strings.Repeat("x", 1000)))
	late := Receive(t, left, "the handler")
	for i := range 50 {
		var busy sync.WaitGroup
		for range 2 {
			busy.Go(func() {
				late.Misuse(t, finished)
				if also != nil {
					also(late.R)
				}
			})
		}
		busy.Go(func() { late.Header.Set("Mine", fmt.Sprint(i)) })
		want := fmt.Sprintf("body %d", i)
		response, body := send(t, request(t, http.MethodPost, "http://a/", want))
		if body != want || response.StatusCode != http.StatusOK || response.Header.Get("Late") != "" ||
			response.Header.Get("Mine") != "" {
			t.Fatalf("another response changed: %d %v %q", response.StatusCode, response.Header, body)
		}
		busy.Wait()
	}
}

// KeptStrings has handlers keep strings, headers and clones of requests, and looks at them after many other requests.
func KeptStrings(t *testing.T, start func(http.Handler) Send) {
	t.Helper()
	type kept struct {
		path, value, host string
		header            http.Header
		clone             *http.Request
	}
	all := make(chan kept, 100)
	send := start(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		all <- kept{r.URL.Path, r.Header.Get("Number"), r.Host, r.Header, r.Clone(r.Context())}
	}))
	for i := range cap(all) {
		r := request(t, http.MethodGet, fmt.Sprintf("http://h%d/path/%d", i, i), "")
		r.Header.Set("Number", fmt.Sprint(i))
		send(t, r)
	}
	for i := range cap(all) {
		k, number := <-all, fmt.Sprint(i)
		if k.path != "/path/"+number || k.value != number || k.host != "h"+number ||
			k.header.Get("Number") != number || k.clone.Header.Get("Number") != number || k.clone.URL.Path != k.path {
			t.Fatalf("request %d became %+v", i, k)
		}
	}
}

// TimeoutHandler has a handler of net/http that goes on after its time.
func TimeoutHandler(t *testing.T, start func(http.Handler) Send) {
	t.Helper()
	release, released := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Late", "1")
		_, _ = io.WriteString(w, "late")
		close(released)
	})
	mux := http.NewServeMux()
	mux.Handle("/slow", http.TimeoutHandler(slow, 20*time.Millisecond, "too slow"))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	send := start(mux)
	response, body := send(t, request(t, http.MethodPost, "http://a/slow", "x"))
	if response.StatusCode != http.StatusServiceUnavailable || body != "too slow" {
		t.Errorf("got %d %q", response.StatusCode, body)
	}
	close(release)
	response, body = send(t, request(t, http.MethodGet, "http://a/", ""))
	if body != "hello" || response.Header.Get("Late") != "" {
		t.Errorf("the next response is %v %q", response.Header, body)
	}
	Receive(t, released, "the slow handler")
}

// LeaveWriting leaves a goroutine behind that writes until Write fails, and returns once it has written a piece or the
// client has left.
func LeaveWriting(w http.ResponseWriter, r *http.Request, failed chan<- error) {
	writing := make(chan struct{})
	go func() {
		chunk := make([]byte, 1<<20)
		for i := 0; ; i++ {
			if _, err := w.Write(chunk); err != nil {
				failed <- err
				return
			}
			if i == 0 {
				close(writing)
			}
		}
	}()
	select {
	case <-writing:
	case <-r.Context().Done():
	}
}
