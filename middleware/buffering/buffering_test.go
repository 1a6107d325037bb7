package buffering_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/replay/replaytest"
	"github.com/sluiceproxy/sluice/middleware/buffering"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func newBuffering(t testing.TB, config dynamic.Buffering) *buffering.Buffering {
	t.Helper()
	step, err := buffering.New("whole@file", config, buffering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

func TestNew(t *testing.T) {
	for want, config := range map[string]dynamic.Buffering{
		"buffering.maxRequestBodyBytes -1 is negative":                                                              {MaxRequestBodyBytes: -1},
		"buffering.memRequestBodyBytes -2 is negative":                                                              {MemRequestBodyBytes: -2},
		"buffering.maxResponseBodyBytes -3 is negative":                                                             {MaxResponseBodyBytes: -3},
		"buffering.memResponseBodyBytes -4 is negative":                                                             {MemResponseBodyBytes: -4},
		`buffering.retryExpression "Attempts() < 'x'": 'x' is neither a whole number nor a string in double quotes`: {RetryExpression: "Attempts() < 'x'"},
	} {
		step, err := buffering.New("whole@file", config, buffering.Options{})
		if step != nil || err == nil || err.Error() != want {
			t.Errorf("%v, %v, want %q", step, err, want)
		}
	}
	// By default 1 MiB is held in memory, and more on disk.
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	for size, want := range map[int]int{1 << 20: http.StatusOK, 1<<20 + 1: http.StatusInternalServerError} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			recorder := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), method, "/", http.NoBody)
			if method == http.MethodPost {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", size))), -1
			}
			newBuffering(t, dynamic.Buffering{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					_, _ = w.Write(make([]byte, size))
				}
			})).ServeHTTP(recorder, r)
			if recorder.Code != want {
				t.Errorf("%s %d: %d", method, size, recorder.Code)
			}
		}
	}
}

func TestReadme(t *testing.T) {
	config := middlewaretest.Examples(t, "README.md")["whole-bodies"].Buffering
	want := &dynamic.Buffering{
		MaxRequestBodyBytes: 2_000_000, MemRequestBodyBytes: 1_000_000, MaxResponseBodyBytes: 5_000_000,
		MemResponseBodyBytes: 1_000_000,
		RetryExpression:      "IsNetworkError() && Attempts() < 3",
	}
	if diff := cmp.Diff(want, config); diff != "" {
		t.Error(diff)
	}
	newBuffering(t, *config)
}

// serve serves a request and returns status, fields and body of what the client gets, or how the handler panicked.
func serve(step *buffering.Buffering, r *http.Request, handler http.HandlerFunc) (got string) {
	w := httptest.NewRecorder()
	defer func() {
		if cause := recover(); cause != nil {
			got = fmt.Sprint("panic: ", cause)
		}
	}()
	w.Header().Set("X-Outer", "o")
	step.Wrap(handler).ServeHTTP(w, r)
	return show(w.Result())
}

func show(response *http.Response) string {
	body, _ := io.ReadAll(response.Body)
	var lines strings.Builder
	fmt.Fprint(&lines, response.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		if name != "Content-Type" && name != "X-Content-Type-Options" && name != "X-Outer" {
			fmt.Fprintf(&lines, " %s=%s", name, strings.Join(response.Header[name], "|"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(response.Trailer)) {
		fmt.Fprintf(&lines, " trailer %s=%s", name, strings.Join(response.Trailer[name], "|"))
	}
	if response.Header.Get("X-Outer") != "o" {
		lines.WriteString(" without what was there")
	}
	return lines.String() + " " + string(body)
}

// response is what a handler does, and what its client gets.
type response struct {
	name, method string
	config       dynamic.Buffering
	handler      http.HandlerFunc
	want         string
	reason       string
}

func wholeResponses() []response {
	return []response{
		{"nothing", "GET", dynamic.Buffering{}, func(http.ResponseWriter, *http.Request) {}, "200 ", ""},
		{"fields and nothing", "GET", dynamic.Buffering{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-A", "a")
		}, "200 X-A=a ", ""},
		{"a body", "GET", dynamic.Buffering{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "a")
		}, "200 Content-Length=1 a", ""},
		{"a status without a body", "GET", dynamic.Buffering{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
		}, "404 Content-Length=0 ", ""},
		{"no content", "GET", dynamic.Buffering{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := w.Write([]byte("a")); !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		}, "204 ", ""},
		{"HEAD", "HEAD", dynamic.Buffering{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
		}, "200 ", ""},
		{
			"HEAD with a length beyond the limit", "HEAD",
			dynamic.Buffering{MaxResponseBodyBytes: 10},
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "3000")
				w.WriteHeader(200)
			}, "200 Content-Length=3000 ", "",
		},
		{"the first status, the fields by then", "GET", dynamic.Buffering{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-A", "a")
			w.WriteHeader(201)
			w.Header().Set("X-A", "b")
			w.Header().Set("X-B", "b")
			w.WriteHeader(500)
			_, _ = w.Write(nil)
			http.NewResponseController(w).Flush() //nolint:errcheck // It has nothing to say.
			_, _ = w.Write([]byte("body"))
		}, "201 Content-Length=4 X-A=a body", ""},
		{"announced trailers", "GET", dynamic.Buffering{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-T, X-U")
			w.Header().Set("Content-Length", "4")
			_, _ = io.WriteString(w, "body")
			w.Header().Set("X-T", "t")
			w.Header().Set("X-V", "v")
		}, "200 Trailer=X-T, X-U trailer X-T=t body", ""},
		{"other trailers", "GET", dynamic.Buffering{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "body")
			w.Header().Set(http.TrailerPrefix+"X-T", "t")
		}, "200 trailer X-T=t body", ""},
	}
}

func limitedResponses() []response {
	big := strings.Repeat("x", 3000)
	return []response{
		{"on disk", "GET", dynamic.Buffering{MemResponseBodyBytes: 1000}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, big)
		}, "200 Content-Length=3000 " + big, ""},
		{"exactly the limit", "GET", dynamic.Buffering{MaxResponseBodyBytes: 3000}, func(w http.ResponseWriter,
			_ *http.Request,
		) {
			_, _ = io.WriteString(w, big)
		}, "200 Content-Length=3000 " + big, ""},
		{
			"beyond the limit", "GET",
			dynamic.Buffering{MaxResponseBodyBytes: 2999, MemResponseBodyBytes: 1000},
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Set-Cookie", "leak=1")
				for range 3 {
					if _, err := io.WriteString(w, big[:1000]); err != nil {
						panic(http.ErrAbortHandler)
					}
				}
			}, "500 Internal Server Error\n", "the response's body is larger than maxResponseBodyBytes, 2999",
		},
		{"beyond the limit by its length", "GET", dynamic.Buffering{MaxResponseBodyBytes: 2999}, func(w http.ResponseWriter,
			_ *http.Request,
		) {
			w.Header().Set("Content-Length", "3000")
			if _, err := w.Write([]byte("a")); err == nil {
				panic("it is taken")
			}
		}, "500 Internal Server Error\n", "the response's body is larger than maxResponseBodyBytes, 2999"},
		{"broken off", "GET", dynamic.Buffering{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Set-Cookie", "leak=1")
			_, _ = io.WriteString(w, "half")
			telemetry.RecordFrom(r.Context()).Reason = "endpoint: EOF"
			panic(http.ErrAbortHandler)
		}, "502 Bad Gateway\n", "the response broke off: endpoint: EOF"},
		{"aborted before anything", "GET", dynamic.Buffering{}, func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, "panic: net/http: abort Handler", ""},
		{"a bug", "GET", dynamic.Buffering{MemResponseBodyBytes: 1}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, big)
			panic("bug")
		}, "panic: bug", ""},
		{"server-sent events beyond the limit", "GET", dynamic.Buffering{MaxResponseBodyBytes: 2}, func(w http.ResponseWriter,
			_ *http.Request,
		) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = io.WriteString(w, "ab")
			if _, err := io.WriteString(w, "c"); err == nil {
				panic("it is taken")
			}
		}, "panic: net/http: abort Handler", "the response's body is larger than maxResponseBodyBytes, 2"},
	}
}

// TestResponses goes through what a handler can do.
func TestResponses(t *testing.T) {
	empty := temporary(t)
	for _, test := range append(wholeResponses(), limitedResponses()...) {
		t.Run(test.name, func(t *testing.T) {
			record := new(telemetry.Record)
			r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), test.method, "/", nil)
			if got := serve(newBuffering(t, test.config), r, test.handler); got != test.want {
				t.Errorf("got %.200q, want %.200q", got, test.want)
			}
			if want := "middleware whole@file: " + test.reason; test.reason != "" && record.Reason != want {
				t.Errorf("the reason is %q", record.Reason)
			}
			empty()
			if n := replaytest.OpenFiles(t); n > 0 {
				t.Errorf("%d files are open", n)
			}
		})
	}
}

// TestNoRoom has no place for temporary files.
func TestNoRoom(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	step := newBuffering(t, dynamic.Buffering{MemRequestBodyBytes: 4, MemResponseBodyBytes: 4})
	for body, want := range map[string]string{
		"abcd":  "500 Internal Server Error\n",
		"abcde": "500 Internal Server Error\n", "abc": "200 Content-Length=4 abc.",
	} {
		got := serve(step, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body)),
			func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				_, _ = io.WriteString(w, string(text)+".")
			})
		if got != want {
			t.Errorf("%s: got %q", body, got)
		}
	}
}

// TestRequests goes through what a client can send.
func TestRequests(t *testing.T) {
	empty := temporary(t)
	step := newBuffering(t, dynamic.Buffering{MaxRequestBodyBytes: 3000, MemRequestBodyBytes: 1000})
	look := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		empty()
		_, _ = fmt.Fprintf(w, "%d of %d %v %v %q", len(body), r.ContentLength, r.TransferEncoding, err,
			r.Header.Get("Expect"))
	}
	broken, stalled := errors.New("broken"), io.ErrUnexpectedEOF
	for _, test := range []struct {
		name string
		size int
		// length is what the request announces.
		length int64
		err    error
		want   string
	}{
		{"nothing", 0, 0, nil, `200 Content-Length=18 0 of 0 [] <nil> ""`},
		{"nothing in chunks", 0, -1, nil, `200 Content-Length=18 0 of 0 [] <nil> ""`},
		{"in memory", 1000, 1000, nil, `200 Content-Length=24 1000 of 1000 [] <nil> ""`},
		{"on disk", 1001, 1001, nil, `200 Content-Length=24 1001 of 1001 [] <nil> ""`},
		{"in chunks", 3000, -1, nil, `200 Content-Length=24 3000 of 3000 [] <nil> ""`},
		{"too large", 3001, 3001, nil, "413 Request Entity Too Large\n"},
		{"too large in chunks", 3001, -1, nil, "413 Request Entity Too Large\n"},
		{"broken", 2000, -1, broken, "400 Bad Request\n"},
		{"too slow", 2000, -1, iotest.ErrTimeout, "400 Bad Request\n"},
		{"over", 2000, -1, context.DeadlineExceeded, "504 Gateway Timeout\n"},
		{"larger than an outer limit", 2000, -1, &http.MaxBytesError{Limit: 2000}, "413 Request Entity Too Large\n"},
		{"gone", 2000, -1, stalled, "200 "}, // what a recorder says of no answer
	} {
		t.Run(test.name, func(t *testing.T) {
			var body io.Reader = strings.NewReader(strings.Repeat("x", test.size))
			if test.err != nil {
				body = io.MultiReader(body, iotest.ErrReader(test.err))
			}
			record := new(telemetry.Record)
			r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodPost, "/",
				onlyReader{body})
			r.ContentLength = test.length
			r.Header.Set("Expect", "100-continue")
			if test.length < 0 {
				r.TransferEncoding = []string{"chunked"}
			}
			if got := serve(step, r, look); got != test.want {
				t.Errorf("got %q", got)
			}
			if gone := errors.Is(test.err, stalled); gone != (record.Status == telemetry.StatusClientClosedRequest) {
				t.Errorf("recorded %d", record.Status)
			}
			if n := replaytest.OpenFiles(t); n > 0 {
				t.Errorf("%d files are open", n)
			}
		})
	}
	if got := step.Counts()["too_large"]; got != 3 {
		t.Errorf("%d were too large", got)
	}
}

// TestRetries has a handler that edits its request in place, and whose responses leave traces.
func TestRetries(t *testing.T) {
	empty := temporary(t)
	for _, test := range []struct {
		expression, method string
		fails              int
		tries              int
		want               string
	}{
		{"IsNetworkError() && Attempts() < 3", "POST", 1, 2, "200 Content-Length=5 X-Try=2 body2"},
		{"IsNetworkError() && Attempts() < 3", "POST", 9, 3, "502 Content-Length=5 X-Try=3 body3"},
		{"IsNetworkError()", "POST", 10, 11, "200 Content-Length=6 X-Try=11 body11"},
		{"IsNetworkError()", "POST", 99, 11, "502 Content-Length=6 X-Try=11 body11"},
		{`RequestMethod() == "GET"`, "POST", 99, 1, "502 Content-Length=5 X-Try=1 body1"},
		{"ResponseCode() == 502 && Attempts() <= 1", "POST", 1, 2, "200 Content-Length=5 X-Try=2 body2"},
		{"", "POST", 1, 1, "502 Content-Length=5 X-Try=1 body1"},
	} {
		for _, breaks := range []bool{false, true} {
			tries := 0
			step := newBuffering(t, dynamic.Buffering{
				RetryExpression: test.expression, MemRequestBodyBytes: 2,
				MemResponseBodyBytes: 2,
			})
			r := httptest.NewRequestWithContext(t.Context(), test.method, "/path", strings.NewReader("body"))
			r.Header.Set("X-Request", "received")
			got := serve(step, r, func(w http.ResponseWriter, r *http.Request) {
				tries++
				if r.URL.Path != "/path" || r.Header.Get("X-Request") != "received" || r.ContentLength != 4 {
					t.Errorf("try %d gets %s %v", tries, r.URL, r.Header)
				}
				r.URL.Path = "/changed"
				r.Header.Set("X-Request", "changed")
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				w.Header().Set("X-Try", fmt.Sprint(tries))
				if tries < test.tries {
					w.Header().Set("Set-Cookie", "leak=1")
					defer w.Header().Set(http.TrailerPrefix+"X-Leak", "leak")
				}
				if tries <= test.fails {
					w.WriteHeader(502)
				}
				_, _ = fmt.Fprint(w, string(body), tries)
				if breaks && tries < test.tries {
					panic(http.ErrAbortHandler)
				}
			})
			if tries != test.tries || got != test.want {
				t.Errorf("%s, breaks %v: %d tries, got %q, want %q", test.expression, breaks, tries, got, test.want)
			}
			if got := step.Counts()["retried"]; got != uint64(test.tries-1) {
				t.Errorf("%s: %d are counted as repeated", test.expression, got)
			}
			empty()
			if n := replaytest.OpenFiles(t); n > 0 {
				t.Errorf("%d files are open", n)
			}
		}
	}
}

// TestRetriesEnd once another try could be of no use, or would be seen.
func TestRetriesEnd(t *testing.T) {
	step := newBuffering(t, dynamic.Buffering{RetryExpression: "ResponseCode() >= 500"})
	for name, handler := range map[string]func(cancel func(), w http.ResponseWriter){
		"the client left": func(cancel func(), w http.ResponseWriter) { cancel(); w.WriteHeader(500) },
		"a hint was sent": func(_ func(), w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(500) },
		"upgraded":        func(_ func(), w http.ResponseWriter) { w.WriteHeader(101) },
	} {
		tries := 0
		ctx, cancel := context.WithCancel(t.Context())
		serve(step, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), func(w http.ResponseWriter,
			_ *http.Request,
		) {
			tries++
			handler(cancel, w)
		})
		cancel()
		if tries != 1 {
			t.Errorf("%s: %d tries", name, tries)
		}
	}
}

// TestDiscardedResponses are read as long as that is cheap, and then broken off.
func TestDiscardedResponses(t *testing.T) {
	step := newBuffering(t, dynamic.Buffering{RetryExpression: "Attempts() < 2"})
	written, tries := 0, 0
	serve(step, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), func(w http.ResponseWriter,
		_ *http.Request,
	) {
		if tries++; tries > 1 {
			return
		}
		for {
			n, err := w.Write(make([]byte, 10_000))
			if written += n; err != nil {
				panic(http.ErrAbortHandler)
			}
		}
	})
	if tries != 2 || written != 60_000 {
		t.Errorf("%d tries, %d bytes", tries, written)
	}
}

// TestRecord of the last try, of which alone the service may keep no part.
func TestRecord(t *testing.T) {
	for _, released := range [][]bool{{true, true}, {true, false}, {false, true}} {
		step := newBuffering(t, dynamic.Buffering{RetryExpression: "ResponseCode() == 502"})
		record := &telemetry.Record{Released: true}
		ctx := telemetry.WithRecord(t.Context(), record)
		tries := 0
		serve(step, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), func(w http.ResponseWriter,
			_ *http.Request,
		) {
			record.Released = released[tries]
			if tries++; tries == 1 {
				record.Reason = "it was broken"
				w.WriteHeader(502)
			}
		})
		if record.Released != (released[0] && released[1]) || record.Reason != "" {
			t.Errorf("%v: released %v, reason %q", released, record.Released, record.Reason)
		}
	}
}

// TestLateCalls come when the handler has returned.
func TestLateCalls(t *testing.T) {
	empty := temporary(t)
	var late http.ResponseWriter
	got := serve(newBuffering(t, dynamic.Buffering{MemResponseBodyBytes: 1}), httptest.NewRequestWithContext(t.Context(),
		http.MethodGet, "/", nil),
		func(w http.ResponseWriter, _ *http.Request) { late = w; _, _ = io.WriteString(w, "body") })
	_, err := late.Write([]byte("late"))
	late.WriteHeader(500)
	_, _, hijacked := http.NewResponseController(late).Hijack()
	if flushed := http.NewResponseController(late).Flush(); err == nil || flushed == nil || hijacked == nil {
		t.Errorf("%v, %v, %v", err, flushed, hijacked)
	}
	if empty(); got != "200 Content-Length=4 body" || replaytest.OpenFiles(t) > 0 {
		t.Errorf("got %q", got)
	}
}
