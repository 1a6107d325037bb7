package forward_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/forward"
)

// TestEventsArriveAtOnce sends each event only when the client has got the one before.
func TestEventsArriveAtOnce(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		for _, kind := range []string{"text/event-stream", "text/event-stream; charset=utf-8", "application/json"} {
			s := s
			s.options.FlushInterval = time.Hour
			got := make(chan struct{})
			g := newRig(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", kind)
				_ = http.NewResponseController(w).Flush()
				for i := range 3 {
					select {
					case <-got:
					case <-r.Context().Done():
						return
					}
					_, _ = fmt.Fprintf(w, "data: %d\n", i)
					_ = http.NewResponseController(w).Flush()
				}
			}))
			response, err := g.client.Do(request(t, http.MethodGet, g.url, nil))
			if err != nil {
				t.Fatal(err)
			}
			reader := bufio.NewReader(response.Body)
			for i := range 3 {
				got <- struct{}{}
				line, err := reader.ReadString('\n')
				if err != nil || line != fmt.Sprintf("data: %d\n", i) {
					t.Fatalf("%s: %q, %v", kind, line, err)
				}
			}
			_ = response.Body.Close()
		}
	})
}

// TestFlushInterval holds back part of a body whose length is known.
func TestFlushInterval(t *testing.T) {
	for name, interval := range map[string]time.Duration{"10 ms": 10 * time.Millisecond, "each write": -1} {
		release := make(chan struct{})
		g := newRig(t, setup{options: forward.Options{FlushInterval: interval}},
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "10")
				_ = http.NewResponseController(w).Flush()
				<-release
				_, _ = io.WriteString(w, "01234")
				_ = http.NewResponseController(w).Flush()
				<-release
				_, _ = io.WriteString(w, "56789")
			}))
		response, err := g.client.Do(request(t, http.MethodGet, g.url, nil))
		if err != nil {
			t.Fatal(err)
		}
		release <- struct{}{}
		half := make([]byte, 5)
		if _, err := io.ReadFull(response.Body, half); err != nil {
			t.Fatal(name, err)
		}
		release <- struct{}{}
		rest, err := io.ReadAll(response.Body)
		equal(t, name, fmt.Sprint(string(half), string(rest), err), "0123456789<nil>")
		_ = response.Body.Close()
	}
}

func TestInformationalResponses(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		s.around = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Middleware", "1")
				next.ServeHTTP(w, r)
			})
		}
		g := newRig(t, s, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("Link", "</b.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Link")
			w.WriteHeader(http.StatusAccepted)
		}))
		var mutex sync.Mutex
		var hints []string
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			mutex.Lock()
			defer mutex.Unlock()
			hints = append(hints, fmt.Sprint(code, header.Get("Link"), header.Get("X-Middleware")))
			return nil
		}}
		r := request(t, http.MethodGet, g.url, nil)
		response, _ := g.do(t, r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
		equal(t, "hints", hints, []string{"103</a.css>; rel=preload", "103</b.css>; rel=preload"})
		equal(t, "final", fmt.Sprint(response.StatusCode, response.Header["Link"], response.Header.Get("X-Middleware")),
			"202 []1")
	})
}

func TestEndlessInformationalResponses(t *testing.T) {
	for _, line := range []string{"103 Early Hints", "100 Continue"} {
		g := newProxy(t, setup{server: scripted(t, says(strings.Repeat("HTTP/1.1 "+line+"\r\n\r\n", 40)+
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))})
		response, _ := g.get(t, "/")
		equal(t, line, response.StatusCode, http.StatusBadGateway)
	}
}

func TestOldClientsGetNoInformationalResponse(t *testing.T) {
	g := newRig(t, setup{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "body")
	}))
	_, reader := g.raw(t, "GET / HTTP/1.0\r\nHost: a\r\n\r\n")
	line, err := reader.ReadString('\n')
	if err != nil || !strings.Contains(line, " 200 ") {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestResponsesWithoutBody(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		g := newRig(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/204":
				w.WriteHeader(http.StatusNoContent)
			case "/304":
				w.Header().Set("Etag", `"a"`)
				w.WriteHeader(http.StatusNotModified)
			default:
				w.Header()["Content-Type"] = nil
				w.Header().Set("Content-Length", "1000")
				_, _ = w.Write(make([]byte, 1000))
			}
		}))
		for _, test := range []struct {
			method, path string
			status       int
			length       string
		}{
			{http.MethodHead, "/", 200, "1000"},
			{http.MethodGet, "/204", 204, ""},
			{http.MethodGet, "/304", 304, ""},
			{http.MethodHead, "/304", 304, ""},
		} {
			response, body := g.do(t, request(t, test.method, g.url+test.path, nil))
			what := test.method + " " + test.path
			equal(t, what, response.StatusCode, test.status)
			equal(t, what+": body", body, "")
			equal(t, what+": length", response.Header.Get("Content-Length"), test.length)
			if response.Header["Content-Type"] != nil {
				t.Errorf("%s: a content type was invented: %v", what, response.Header["Content-Type"])
			}
			if test.status == 304 {
				equal(t, what+": tag", response.Header.Get("Etag"), `"a"`)
			}
		}
	})
}

func TestResponseHeaders(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		s.around = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Set-Cookie", "sticky=1")
				next.ServeHTTP(w, r)
			})
		}
		g := newRig(t, s, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Set-Cookie"] = []string{"a=b", "c=d"}
			w.Header()["Date"] = []string{"Thu, 01 Jan 1970 00:00:00 GMT"}
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "<html>")
		}))
		response, _ := g.get(t, "/")
		equal(t, "headers", response.Header, http.Header{
			"Set-Cookie": {"sticky=1", "a=b", "c=d"}, "Date": {"Thu, 01 Jan 1970 00:00:00 GMT"}, "Content-Length": {"6"},
		})
	})
}

// TestWhatCameBeforeABreakArrives although the endpoint breaks off in the same moment, and the break is seen.
func TestWhatCameBeforeABreakArrives(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, text := range map[string]string{
		"closed":    head + "b\r\ndata: last\n\r\n",
		"malformed": head + "b\r\ndata: last\n\r\nzz\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := newProxy(t, setup{server: scripted(t, says(text)), options: forward.Options{FlushInterval: -1}})
			response, err := g.client.Do(request(t, http.MethodGet, g.url, nil))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			equal(t, "body", string(body), "data: last\n")
			if err == nil {
				t.Error("the break can't be seen")
			}
		})
	}
}
