package errors_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/httpio/intercept"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/telemetry"
)

// refusingURL returns the URL of an endpoint without a listener.
func refusingURL(t *testing.T) string {
	t.Helper()
	return "http://" + http1test.Reserve(t)
}

// says returns a script that writes text, and then waits for the other side to go if it hangs.
func says(text string, hangs bool) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		if hangs {
			_, _ = io.Copy(io.Discard, conn)
		}
	}
}

// TestEndpointsThatFail shows what a client sees of endpoints that fail, one way after the other, where 5xx are
// replaced.
func TestEndpointsThatFail(t *testing.T) {
	const page, head = "page 5xx", "HTTP/1.1 500 Oops\r\nSet-Cookie: a=b\r\n"
	for name, test := range map[string]struct {
		endpoint func(t *testing.T) string
		status   int
		body     string
		cut      bool
	}{
		"refuses":  {refusingURL, 502, page, false},
		"hangs up": {func(t *testing.T) string { return scripted(t, says("", false)) }, 502, page, false},
		"answers half a head": {func(t *testing.T) string {
			return scripted(t, says("HTTP/1.1 200 OK\r\nX-", false))
		}, 502, page, false},
		"half of a good answer": {func(t *testing.T) string {
			return scripted(t, says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", false))
		}, 200, "half", true},
		"half of a bad answer": {func(t *testing.T) string {
			return scripted(t, says(head+"Content-Length: 9\r\n\r\nhalf", false))
		}, 500, page, false},
		"a bad answer hangs": {func(t *testing.T) string {
			return scripted(t, says(head+"Content-Length: 9\r\n\r\nhalf", true))
		}, 500, page, false},
		"a bad stream hangs": {func(t *testing.T) string {
			return scripted(t, says(head+"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", true))
		}, 500, page, false},
		"a bad head hangs": {func(t *testing.T) string {
			return scripted(t, says(head+"Content-Type: text/event-stream\r\n\r\n", true))
		}, 500, page, false},
		"a bad answer is huge": {func(t *testing.T) string {
			return rig.Listen(t, "h1", answers(500, strings.Repeat("x", 1<<20))).URL
		}, 500, page, false},
		"answers 500": {func(t *testing.T) string {
			return rig.Listen(t, "h1", answers(500, "bad", "Set-Cookie", "a=b")).URL
		}, 500, page, false},
		"answers 500 over h2": {func(t *testing.T) string {
			return rig.Listen(t, "h2", answers(500, "bad", "Set-Cookie", "a=b")).URL
		}, 500, page, false},
		"a bad stream of h2": {func(t *testing.T) string { return rig.Listen(t, "h2", stuck()).URL }, 500, page, false},
		"a good answer": {func(t *testing.T) string {
			return rig.Listen(t, "h1", answers(200, "good")).URL
		}, 200, "good", false},
		"an answer not listed": {func(t *testing.T) string {
			return rig.Listen(t, "h1", answers(404, "own")).URL
		}, 404, "own", false},
		"a large good answer": {func(t *testing.T) string {
			return rig.Listen(t, "h1", answers(200, strings.Repeat("x", 1<<20))).URL
		}, 200, strings.Repeat("x", 1<<20), false},
		"an early bad answer": {func(t *testing.T) string {
			return scripted(t, says(head+"Content-Length: 3\r\nConnection: close\r\n\r\nbad", true))
		}, 500, page, false},
		"good with a long chunk": {func(t *testing.T) string {
			return scripted(t, says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", false))
		}, 200, "ab", false},
	} {
		for _, front := range []string{"h1", "h2", "h2c"} {
			t.Run(name+" "+front, func(t *testing.T) {
				t.Parallel()
				pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, rig.Service(t, "pages@file",
					rig.Listen(t, "h1", answers(200, page)).URL))
				url, client, records := rig.Serve(t, front, pages.Wrap(rig.Service(t, "web@file", test.endpoint(t))))
				response, body, err := do(t, client, request(t, http.MethodGet, url+"/", nil))
				if (err != nil) != test.cut || response == nil {
					t.Fatalf("the error is %v", err)
				}
				equal(t, "status", response.StatusCode, test.status)
				equal(t, "body", body == test.body, true)
				equal(t, "cookie", response.Header["Set-Cookie"], []string(nil))
				record := <-records
				equal(t, "service", record.Service, "web@file")
				equal(t, "tries", record.Tries, 1)
			})
		}
	}
}

// stuck is an endpoint that begins a bad answer and never ends it.
func stuck() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

// TestEarlyAnswer has an endpoint answer a request whose body the client is still sending.
func TestEarlyAnswer(t *testing.T) {
	for _, front := range []string{"h1", "h2", "h2c"} {
		for _, behind := range []string{"h1", "h2"} {
			t.Run(front+"-"+behind, func(t *testing.T) {
				endpoint := rig.Listen(t, behind, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					// Otherwise the standard library's server reads all of the body first.
					_ = http.NewResponseController(w).EnableFullDuplex()
					answers(503, "bad").ServeHTTP(w, nil)
					_ = http.NewResponseController(w).Flush()
				}))
				pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, rig.Service(t, "pages@file",
					rig.Listen(t, "h1", answers(200, "page")).URL))
				url, client, _ := rig.Serve(t, front, pages.Wrap(rig.Service(t, "web@file", endpoint.URL)))
				reader, writer := io.Pipe()
				defer writer.Close() //nolint:errcheck // a pipe's
				go func() { _, _ = io.WriteString(writer, "some of it") }()
				response, body, err := do(t, client, request(t, http.MethodPost, url+"/", reader))
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "answer", fmt.Sprint(response.StatusCode, " ", body), "503 page")
			})
		}
	}
}

// TestConnectionServesAgain demands that replaced answers do not cost a connection each.
func TestConnectionServesAgain(t *testing.T) {
	for name, handler := range map[string]http.Handler{
		"length": answers(500, "bad"),
		"chunks": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			for range 3 {
				_, _ = io.WriteString(w, strings.Repeat("x", 5000))
				_ = http.NewResponseController(w).Flush()
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			var opened atomic.Int32
			endpoint := httptest.NewUnstartedServer(handler)
			endpoint.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					opened.Add(1)
				}
			}
			endpoint.Start()
			defer endpoint.Close()
			pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, answers(200, "page"))
			url, client, _ := rig.Serve(t, "h1", pages.Wrap(rig.Service(t, "web@file", endpoint.URL)))
			for range 5 {
				if _, body, err := do(t, client, request(t, http.MethodGet, url+"/", nil)); err != nil || body != "page" {
					t.Fatalf("%q, %v", body, err)
				}
			}
			equal(t, "connections", opened.Load(), int32(1))
		})
	}
}

// TestStreamsPass demands that a good answer streams, with its trailers, and that informational responses come before
// it.
func TestStreamsPass(t *testing.T) {
	for _, front := range []string{"h1", "h2", "h2c"} {
		for _, behind := range []string{"h1", "h2"} {
			t.Run(front+"-"+behind, func(t *testing.T) {
				proceed := make(chan struct{})
				endpoint := rig.Listen(t, behind, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Link", "</a.css>")
					w.WriteHeader(http.StatusEarlyHints)
					w.Header().Del("Link")
					w.Header().Set("Trailer", "X-Announced")
					for i := range 3 {
						_, _ = fmt.Fprint(w, i)
						_ = http.NewResponseController(w).Flush()
						<-proceed
					}
					w.Header().Set("X-Announced", "a")
					w.Header().Set(http.TrailerPrefix+"X-Late", "b")
				}))
				pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, answers(200, "page"))
				url, client, _ := rig.Serve(t, front, pages.Wrap(rig.Service(t, "web@file", endpoint.URL)))
				r := request(t, http.MethodGet, url+"/", nil)
				hints := 0
				response, err := client.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
					Got1xxResponse: func(int, textproto.MIMEHeader) error { hints++; return nil },
				})))
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close() //nolint:errcheck // a test's
				for i := range 3 {
					one := make([]byte, 1)
					if _, err := io.ReadFull(response.Body, one); err != nil || string(one) != fmt.Sprint(i) {
						t.Fatalf("%q, %v", one, err)
					}
					proceed <- struct{}{}
				}
				_, _ = io.Copy(io.Discard, response.Body)
				equal(t, "trailers", []string{response.Trailer.Get("X-Announced"), response.Trailer.Get("X-Late")},
					[]string{"a", "b"})
				equal(t, "hints", hints, 1)
				equal(t, "link", response.Header.Get("Link"), "")
			})
		}
	}
}

// TestNothingLeaks demands that of a replaced answer nothing but its informational responses reaches the client,
// trailers of a page do, and what was in the header before stays.
func TestNothingLeaks(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		header.Set("X-Before", "changed")
		header.Set("Set-Cookie", "a=b")
		header.Set("Trailer", "X-End")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(500)
		header.Set("X-End", "of the answer")
		header.Set(http.TrailerPrefix+"X-Late", "of the answer")
		w.Header().Set("X-After", "of the answer")
		w.WriteHeader(200)
		_, _ = io.WriteString(w, "bad")
		_ = http.NewResponseController(w).Flush()
		_, err := io.Copy(w, strings.NewReader(strings.Repeat("x", 1<<17)))
		equal(t, "end of a discarded answer", errors.Is(err, intercept.ErrDiscarded), true)
		_, _, err = http.NewResponseController(w).Hijack()
		equal(t, "hijacked", errors.Is(err, intercept.ErrDiscarded), true)
	})
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Page-End")
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "page")
		_ = http.NewResponseController(w).Flush()
		_, _, err := http.NewResponseController(w).Hijack()
		equal(t, "hijacked page", errors.Is(err, http.ErrNotSupported), true)
		w.Header().Set("X-Page-End", "yes")
	})
	pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, page)
	wrapped := pages.Wrap(next)
	for _, front := range []string{"h1", "h2", "h2c"} {
		t.Run(front, func(t *testing.T) {
			url, client, _ := rig.Serve(t, front, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Before", "yes")
				wrapped.ServeHTTP(w, r)
			}))
			response, body, err := do(t, client, request(t, http.MethodGet, url+"/", nil))
			if err != nil {
				t.Fatal(err)
			}
			header := response.Header
			header.Del("Date")
			header.Del("Content-Type")
			equal(t, "body", body, "page")
			equal(t, "header", header, http.Header{"X-Before": {"yes"}})
			equal(t, "trailer", response.Trailer, http.Header{"X-Page-End": {"yes"}})
		})
	}
}

// TestPanics demands that an aborted answer is cut, unless neither gets it, and that other panics are not lost.
func TestPanics(t *testing.T) {
	pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, answers(200, "page"))
	ask := func(status int, cause any) (code int, caught any) {
		defer func() { caught = recover() }()
		recorder := httptest.NewRecorder()
		pages.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if status != 0 {
				w.WriteHeader(status)
			}
			panic(cause)
		})).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		return recorder.Code, nil
	}
	for _, test := range []struct {
		status int
		cause  any
		code   int
		caught any
	}{
		{200, http.ErrAbortHandler, 0, http.ErrAbortHandler},
		{0, http.ErrAbortHandler, 0, http.ErrAbortHandler},
		{500, http.ErrAbortHandler, 500, nil},
		{500, "a fault", 0, "a fault"},
		{200, "a fault", 0, "a fault"},
	} {
		code, caught := ask(test.status, test.cause)
		if code != test.code || caught != test.caught {
			t.Errorf("%d, %v: status %d, panic %v", test.status, test.cause, code, caught)
		}
	}
}

// TestBrokenPage demands that a page that breaks off is cut.
func TestBrokenPage(t *testing.T) {
	broken := rig.Service(t, "pages@file", scripted(t, says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", false)))
	pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, broken)
	endpoint := rig.Listen(t, "h1", answers(500, "bad"))
	url, client, records := rig.Serve(t, "h1", pages.Wrap(rig.Service(t, "web@file", endpoint.URL)))
	response, body, err := do(t, client, request(t, http.MethodGet, url+"/", nil))
	if err == nil || response.StatusCode != 500 || body != "half" {
		t.Fatalf("%v, %q, %v", response, body, err)
	}
	record := <-records
	equal(t, "record", []any{record.Service, strings.Contains(record.Reason, "no error page: endpoint")},
		[]any{"web@file", true})
}

// TestClientLeaves demands that no page is requested for a client that has left.
func TestClientLeaves(t *testing.T) {
	asked := make(chan struct{}, 1)
	page := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} })
	ctx, leave := context.WithCancel(t.Context())
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		leave()
		w.WriteHeader(500)
	})
	record := &telemetry.Record{}
	r := httptest.NewRequestWithContext(telemetry.WithRecord(ctx, record), http.MethodGet, "/", nil)
	build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, page).Wrap(next).ServeHTTP(httptest.NewRecorder(), r)
	equal(t, "record", []any{record.Status, record.Reason}, []any{499, "the client left"})
	equal(t, "requests", len(asked), 0)

	// One that leaves while the page is awaited ends that too.
	ctx, leave = context.WithCancel(t.Context())
	defer leave()
	page = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leave()
		<-r.Context().Done()
		telemetry.RecordFrom(r.Context()).Status = telemetry.StatusClientClosedRequest
	})
	recorder := httptest.NewRecorder()
	recorder.Code = 0
	record = &telemetry.Record{}
	r = httptest.NewRequestWithContext(telemetry.WithRecord(ctx, record), http.MethodGet, "/", nil)
	build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, page).Wrap(answers(500, "")).ServeHTTP(recorder, r)
	equal(t, "status", []any{record.Status, recorder.Code}, []any{499, 0})
}

// TestUpgrade demands that a switch to another protocol passes, and that one which is refused is replaced.
func TestUpgrade(t *testing.T) {
	for name, test := range map[string]struct {
		answer, want string
	}{
		"switched": {
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
			"101 Switching Protocols",
		},
		"refused": {"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", "503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := scripted(t, func(conn net.Conn) {
				_, _ = io.WriteString(conn, test.answer)
				_, _ = io.Copy(conn, conn)
			})
			pages := build(t, dynamic.ErrorPage{Status: []string{"100-599"}}, answers(200, "page"))
			url, _, _ := rig.Serve(t, "h1", pages.Wrap(rig.Service(t, "web@file", endpoint)))
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close() //nolint:errcheck // a test's
			_ = conn.SetDeadline(time.Now().Add(eventTimeout))
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "status", response.Status, test.want)
			if name == "refused" {
				body, _ := io.ReadAll(response.Body)
				equal(t, "body", string(body), "page")
				return
			}
			_, _ = io.WriteString(conn, "ping")
			echo := make([]byte, 4)
			if _, err := io.ReadFull(reader, echo); err != nil || string(echo) != "ping" {
				t.Errorf("%q, %v", echo, err)
			}
		})
	}
}

// TestTogether has many clients get good answers and pages at a time, none of which may get another's.
func TestTogether(t *testing.T) {
	endpoint := rig.Listen(t, "h1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/bad") {
			w.WriteHeader(500)
		}
		_, _ = io.WriteString(w, "good "+r.URL.Path)
	}))
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "page "+r.URL.RawQuery)
	})
	pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}, Query: "/?{url}"}, page)
	handler := pages.Wrap(recyclable{rig.Service(t, "web@file", endpoint.URL)})
	url, client, _ := rig.Serve(t, "h1", handler)
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() {
			for n := range 50 {
				path, want := fmt.Sprintf("/good-%d-%d", i, n), ""
				want = "good " + path
				if n%3 == 0 {
					path = fmt.Sprintf("/bad-%d-%d", i, n)
					want = "page http%3A%2F%2F" + strings.ReplaceAll(strings.TrimPrefix(url, "http://"), ":", "%3A") + "%2F" + path[1:]
				}
				_, body, err := do(t, client, request(t, http.MethodGet, url+path, nil))
				if err != nil || body != want {
					t.Errorf("%q, %v, want %q", body, err, want)
					return
				}
			}
		})
	}
	asking.Wait()
	equal(t, "counts", pages.Counts(), map[string]uint64{"replaced": 8 * 17, "failed": 0})
}

// recyclable is a handler that keeps nothing where the record says so.
type recyclable struct{ http.Handler }

// NoRetain says so.
func (recyclable) NoRetain() {}
