package service_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
)

func codes(t testing.TB, list ...string) dynamic.StatusCodes {
	t.Helper()
	parsed, err := dynamic.ParseStatusCodes(list)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// echo answers with the request's body, and its own name in X-Service.
func echo(name string) service.Child {
	return service.Child{Name: name, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("X-Service", name)
		_, _ = w.Write(body)
	})}
}

func handled(f func(w http.ResponseWriter, r *http.Request)) service.Child {
	return service.Child{Name: "main", Handler: http.HandlerFunc(f)}
}

// front serves a handler over HTTP/1.1, each request with a record of its own.
func front(t testing.TB, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), &telemetry.Record{})))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.Client().CloseIdleConnections)
	return server
}

func dial(t testing.TB, server *httptest.Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, bufio.NewReader(conn)
}

func say(t testing.TB, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func TestFailoverFollowsHealth(t *testing.T) {
	a, b := &named{name: "a"}, &named{name: "b"}
	f := service.NewFailover(service.FailoverOptions{Main: a.child(0), Fallback: b.child(0)})
	for _, row := range []struct {
		mainDown, fallbackDown, up bool
		service                    string
	}{
		{false, false, true, "a"}, {true, false, true, "b"}, {false, true, true, "a"}, {true, true, false, "b"},
	} {
		a.down.Store(row.mainDown)
		b.down.Store(row.fallbackDown)
		response, _ := ask(t, f)
		if got := response.Header.Get("X-Service"); got != row.service || f.Up() != row.up {
			t.Errorf("down %v, %v: service %q, up %v; want %q, %v", row.mainDown, row.fallbackDown, got, f.Up(), row.service,
				row.up)
		}
	}
}

// The table of statuses: which service answers the client.
func TestFailoverByStatus(t *testing.T) {
	var status atomic.Int64
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Service", "main")
			w.Header().Set("Set-Cookie", "main=1")
			w.WriteHeader(int(status.Load()))
			_, _ = io.WriteString(w, "main's body")
		}),
		Fallback: echo("fallback"), Status: codes(t, "404", "429,500-503", "200"), MaxBody: -1,
		Memory: replay.NewMemory(1 << 20),
	})
	server := front(t, f)
	for code, fails := range map[int]bool{
		200: true, 201: false, 301: false, 400: false, 403: false, 404: true, 405: false, 428: false, 429: true, 430: false,
		499: false, 500: true, 501: true, 502: true, 503: true, 504: false, 599: false,
	} {
		status.Store(int64(code))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("question"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		got := fmt.Sprint(response.StatusCode, response.Header["X-Service"], response.Header["Set-Cookie"], string(body))
		want := fmt.Sprint(code, []string{"main"}, []string{"main=1"}, "main's body")
		if fails {
			want = fmt.Sprint(200, []string{"fallback"}, []string(nil), "question")
		}
		if got != want {
			t.Errorf("main answers %d: %s, want %s", code, got, want)
		}
	}
}

// TestFailoverOfAMainServiceThatWritesNothing takes that for 200, as the server does, unless the client has left.
func TestFailoverOfAMainServiceThatWritesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		codes  string
		leaves bool
		want   string
	}{
		"listed":     {"200", false, "[200 fallback]"},
		"not listed": {"5xx", false, "[103  200 main]"},
		"left":       {"200", true, "[]"},
	} {
		f := service.NewFailover(service.FailoverOptions{
			Main: handled(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusEarlyHints)
				w.Header().Set("X-Service", "main")
				if test.leaves {
					telemetry.RecordFrom(r.Context()).Status = telemetry.StatusClientClosedRequest
				}
			}),
			Fallback: echo("fallback"), Status: codes(t, test.codes), Memory: replay.NewMemory(1 << 20),
		})
		w := &heads{ResponseRecorder: httptest.NewRecorder()}
		ctx := telemetry.WithRecord(t.Context(), &telemetry.Record{})
		f.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
		if got := fmt.Sprint(w.seen); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// heads keeps the status and the service of all responses, informational ones included.
type heads struct {
	*httptest.ResponseRecorder
	seen []string
}

func (h *heads) WriteHeader(status int) {
	h.seen = append(h.seen, fmt.Sprint(status, " ", h.Header().Get("X-Service")))
}

func (h *heads) Write(p []byte) (int, error) {
	if len(h.seen) == 0 {
		h.WriteHeader(http.StatusOK)
	}
	return len(p), nil
}

// A client sees every byte on the wire, also those that libraries leave out.
func TestNothingOfADiscardedAnswerReachesTheClient(t *testing.T) {
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(w http.ResponseWriter, _ *http.Request) {
			header := w.Header()
			header.Set("Link", "</main.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			header.Set("X-Main", "main")
			header.Set("Trailer", "X-Main-Trailer")
			header.Set("Content-Length", "30")
			header.Del("X-Before")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "main's first")
			_ = http.NewResponseController(w).Flush()
			header.Set("X-Main-Trailer", "main")
			w.Header().Set("X-Main-Late", "main")
			_, _ = io.WriteString(w, "main's second")
		}),
		Fallback: echo("fallback"), Status: codes(t, "5xx"), MaxBody: -1, Memory: replay.NewMemory(1 << 20),
	})
	server := front(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Before", "kept")
		f.ServeHTTP(w, r)
	}))
	conn, _ := dial(t, server)
	say(t, conn, "POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	text := string(all)
	if strings.Contains(strings.ToLower(text), "main") || !strings.HasPrefix(text, "HTTP/1.1 200 OK\r\n") ||
		!strings.Contains(text, "\r\nX-Before: kept\r\n") || !strings.HasSuffix(text, "\r\n\r\nok") {
		t.Errorf("the client read:\n%s", text)
	}
}

func TestInformationalResponsesComeBeforeAnAnswerThatPasses(t *testing.T) {
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a.css>")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("Link", "</b.css>")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Link")
			w.Header().Set("X-Final", "yes")
			w.WriteHeader(http.StatusNoContent)
		}),
		Fallback: echo("fallback"), Status: codes(t, "5xx"), Memory: replay.NewMemory(1 << 20),
	})
	conn, _ := dial(t, front(t, f))
	say(t, conn, "GET / HTTP/1.1\r\nHost: x.test\r\nConnection: close\r\n\r\n")
	all, _ := io.ReadAll(conn)
	text := string(all)
	want := "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: " +
		"</b.css>\r\n\r\nHTTP/1.1 204 No Content\r\n"
	if !strings.HasPrefix(text, want) || !strings.Contains(text, "\r\nX-Final: yes\r\n") ||
		strings.Count(text, "Link") != 2 {
		t.Errorf("the client read:\n%s", text)
	}
}

// A main service without an end to them takes no more memory than others.
func TestFewInformationalResponsesWait(t *testing.T) {
	const maxInterims = 32
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(w http.ResponseWriter, _ *http.Request) {
			for range 10 * maxInterims {
				w.WriteHeader(http.StatusEarlyHints)
			}
			w.WriteHeader(http.StatusNoContent)
		}),
		Fallback: echo("fallback"), Status: codes(t, "5xx"), Memory: replay.NewMemory(1 << 20),
	})
	conn, _ := dial(t, front(t, f))
	say(t, conn, "GET / HTTP/1.1\r\nHost: x.test\r\nConnection: close\r\n\r\n")
	all, _ := io.ReadAll(conn)
	if got := strings.Count(string(all), "HTTP/1.1 103 "); got != maxInterims {
		t.Errorf("%d informational responses, want %d", got, maxInterims)
	}
}

// reading is a main service that reads so much of the body, less than 0 for all, and answers 503 with how much it got.
func reading(most int64) service.Child {
	return handled(func(w http.ResponseWriter, r *http.Request) {
		source := r.Body.(io.Reader)
		if most >= 0 {
			source = io.LimitReader(source, most)
		}
		n, err := io.Copy(io.Discard, source)
		w.Header().Set("X-Service", fmt.Sprintf("main read %d, %v", n, err))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
}

func TestTheFallbackGetsTheWholeBody(t *testing.T) {
	const limit = 1 << 16
	memory := replay.NewMemory(1 << 20)
	for _, row := range []struct {
		size, read int64
		passes     bool
	}{
		{0, -1, false},
		{1, -1, false},
		{100, 0, false},
		{100, 40, false},
		{limit - 1, -1, false},
		{limit, -1, false},
		{limit + 1, -1, true},
		{10 * limit, -1, true},
	} {
		for _, chunked := range []bool{false, true} {
			f := service.NewFailover(service.FailoverOptions{
				Main: reading(row.read), Fallback: echo("fallback"), Status: codes(t, "503"), MaxBody: limit, Memory: memory,
			})
			server := front(t, f)
			text := strings.Repeat("0123456789abcdef", int(row.size)/16+1)[:row.size]
			var body io.Reader = strings.NewReader(text)
			if chunked {
				body = struct{ io.Reader }{body}
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			name := fmt.Sprintf("%d bytes, chunked %v, main reads %d", row.size, chunked, row.read)
			switch {
			case err != nil:
				t.Errorf("%s: %v", name, err)
			case row.passes && response.StatusCode != http.StatusServiceUnavailable:
				t.Errorf("%s: %d, want main's 503", name, response.StatusCode)
			case row.passes && response.Header.Get("X-Service") != fmt.Sprintf("main read %d, <nil>", row.size):
				t.Errorf("%s: %s", name, response.Header.Get("X-Service"))
			case !row.passes && (response.StatusCode != http.StatusOK || string(got) != text):
				t.Errorf("%s: %d with %d bytes, want 200 with all", name, response.StatusCode, len(got))
			}
		}
	}
	if left := memory.Left(); left != 1<<20 {
		t.Errorf("%d bytes of memory are left, want all %d", left, 1<<20)
	}
}

// Main may answer before it has read more than the limit of a longer body: then the rest comes from the client.
func TestTheFallbackReadsOnWhereMainStopped(t *testing.T) {
	f := service.NewFailover(service.FailoverOptions{
		Main: reading(10), Fallback: echo("fallback"), Status: codes(t, "503"), MaxBody: 1000,
		Memory: replay.NewMemory(1 << 20),
	})
	server := front(t, f)
	text := strings.Repeat("x", 100000)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL,
		struct{ io.Reader }{strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != text {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(text))
	}
}

// A transport may leave a goroutine behind that still waits for the client. What it gets then is not lost.
func TestAReaderThatWasLeftBehindLosesNothing(t *testing.T) {
	left := make(chan struct{})
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(w http.ResponseWriter, r *http.Request) {
			buffer := make([]byte, 4)
			_, _ = io.ReadFull(r.Body, buffer)
			started := make(chan struct{})
			go func() {
				defer close(left)
				close(started)
				_, _ = r.Body.Read(buffer)
			}()
			<-started
			w.WriteHeader(http.StatusBadGateway)
		}),
		Fallback: echo("fallback"), Status: codes(t, "502"), MaxBody: -1, Memory: replay.NewMemory(1 << 20),
	})
	conn, reader := dial(t, front(t, f))
	say(t, conn, "POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 12\r\n\r\n0123")
	say(t, conn, "4567")
	say(t, conn, "89ab")
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != "0123456789ab" {
		t.Errorf("%q, %v", got, err)
	}
	<-left
}

func TestWithoutMemoryTheAnswerOfMainPasses(t *testing.T) {
	f := service.NewFailover(service.FailoverOptions{
		Main: reading(-1), Fallback: echo("fallback"), Status: codes(t, "503"), MaxBody: -1, Memory: replay.NewMemory(5000),
	})
	server := front(t, f)
	for size, want := range map[int]int{4000: http.StatusOK, 6000: http.StatusServiceUnavailable} {
		response, err := server.Client().Post(server.URL, "text/plain", //nolint:noctx // The server of the test.
			struct{ io.Reader }{strings.NewReader(strings.Repeat("x", size))})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%d bytes: %d, want %d", size, response.StatusCode, want)
		}
	}
}

// What a middleware of the main service does to its request is not done to the fallback's.
func TestTheFallbackGetsTheRequestAsItCame(t *testing.T) {
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path, r.Host, r.Method = "/main", "main.test", http.MethodDelete
			r.Header.Set("X-Main", "1")
			r.Header["Accept"][0] = "main"
			r.Header.Del("X-Kept")
			w.WriteHeader(http.StatusBadGateway)
		}),
		Fallback: handled(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, r.Method, r.Host, r.URL.Path, r.Header["X-Main"], r.Header["Accept"], r.Header["X-Kept"])
		}),
		Status: codes(t, "502"), Memory: replay.NewMemory(1 << 20),
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/path", http.NoBody)
	r.Header.Set("Accept", "text/plain")
	r.Header.Set("X-Kept", "yes")
	recorder := httptest.NewRecorder()
	f.ServeHTTP(recorder, r)
	if got, want := recorder.Body.String(), "GETx.test/path[] [text/plain] [yes]"; got != want {
		t.Errorf("the fallback got %s, want %s", got, want)
	}
}

func TestTheRecordIsTheFallbacks(t *testing.T) {
	for _, released := range []struct{ main, fallback, want bool }{
		{true, true, true},
		{true, false, false},
		{false, true, false},
	} {
		f := service.NewFailover(service.FailoverOptions{
			Main: handled(func(w http.ResponseWriter, r *http.Request) {
				record := telemetry.RecordFrom(r.Context())
				record.Service, record.Endpoint, record.Reason, record.Released = "main", "192.0.2.1:80", "refused", released.main
				record.Tries++
				record.Authenticated = true // by a middleware of the main service alone
				record.Status = http.StatusBadGateway
				w.WriteHeader(http.StatusBadGateway)
			}),
			Fallback: handled(func(_ http.ResponseWriter, r *http.Request) {
				record := telemetry.RecordFrom(r.Context())
				record.Service, record.Released = "fallback", record.Released || released.fallback
				record.Tries++
			}),
			Status: codes(t, "502"), Memory: replay.NewMemory(1 << 20),
		})
		_, record := ask(t, f)
		want := telemetry.Record{Service: "fallback", Tries: 2, Released: released.want}
		if !reflect.DeepEqual(*record, want) {
			t.Errorf("released %+v: record %+v, want %+v", released, *record, want)
		}
	}
}
