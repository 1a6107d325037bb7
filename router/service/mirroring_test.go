package service_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
)

// seen is what a mirror got.
type seen struct {
	Method, Host, URI, Body string
	Length                  int64
	Header, Trailer         http.Header
	Record                  telemetry.Record
	Limited                 bool
	KeepsForwardedFor       bool
}

// glass is a mirror that records what it got.
type glass struct{ got chan seen }

func newGlass() *glass { return &glass{got: make(chan seen, 1000)} }

func (g *glass) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, limited := r.Context().Deadline()
	record := *telemetry.RecordFrom(r.Context())
	record.Start = time.Time{}
	g.got <- seen{
		Method: r.Method, Host: r.Host, URI: r.URL.RequestURI(), Body: string(body), Length: r.ContentLength,
		Header: r.Header.Clone(), Trailer: r.Trailer, Record: record, Limited: limited,
		KeepsForwardedFor: forwarded.KeepsForwardedFor(r.Context()),
	}
	r.Header.Set("X-Edited", "by a mirror")
	w.Header().Set("X-Mirror", "answers")
	w.WriteHeader(http.StatusTeapot)
	_, _ = io.WriteString(w, "the mirror's body")
	_ = http.NewResponseController(w).Flush()
}

// plain is a mirroring service with one mirror of 100 %.
func plain(t testing.TB, main service.Child, to http.Handler) (*service.Mirroring, *service.Mirrors, *replay.Memory) {
	t.Helper()
	carrier, memory := service.NewMirrors(), replay.NewMemory(1<<20)
	t.Cleanup(func() {
		carrier.Close()
		if left := memory.Left(); left != 1<<20 {
			t.Errorf("%d bytes of memory are left, want all", left)
		}
	})
	return service.NewMirroring(service.MirroringOptions{
		Main: main, To: []service.Mirror{{Handler: to, Numerator: 1, Denominator: 1}}, Body: true, MaxBody: -1,
		State: service.NewState(), Carrier: carrier, Memory: memory,
	}), carrier, memory
}

func TestAMirrorGetsTheRequestAsItCame(t *testing.T) {
	g := newGlass()
	m, _, _ := plain(t, handled(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path, r.Method, r.Host = "/main", http.MethodDelete, "main.test"
		r.Header.Set("X-Main", "1")
		r.Header["Accept"][0] = "main"
		body, _ := io.ReadAll(r.Body)
		telemetry.RecordFrom(r.Context()).Service = "main"
		w.Header().Set("X-Main", "yes")
		_, _ = w.Write(body)
	}), g)
	for _, chunked := range []bool{false, true} {
		var body io.Reader = strings.NewReader("question")
		if chunked {
			body = struct{ io.Reader }{body}
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("User-Agent")
			ctx := telemetry.WithRecord(r.Context(), &telemetry.Record{
				Client: "192.0.2.7", Method: "POST", Router: "r@file",
				Tries: 3, Authenticated: true,
			})
			m.ServeHTTP(w, r.WithContext(forwarded.KeepForwardedFor(ctx)))
		}))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/path?q=1", body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Accept": {"text/plain"}, "Accept-Encoding": {"x"}, "Expect": {"100-continue"}}
		request.Host = "x.test"
		if chunked {
			request.Trailer = http.Header{"X-Sum": {"12"}}
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		server.Close()
		if string(answer) != "question" || response.StatusCode != http.StatusOK || response.Header.Get("X-Mirror") != "" {
			t.Errorf("the client got %d %v %q", response.StatusCode, response.Header, answer)
		}
		want := seen{
			Method: "POST", Host: "x.test", URI: "/path?q=1", Body: "question", Length: 8,
			Header: http.Header{"Accept": {"text/plain"}, "Accept-Encoding": {"x"}},
			Record: telemetry.Record{Client: "192.0.2.7", Method: "POST", Router: "r@file", Authenticated: true}, Limited: true,
			KeepsForwardedFor: true,
		}
		if chunked {
			want.Length, want.Trailer = -1, http.Header{"X-Sum": {"12"}}
		}
		if diff := cmp.Diff(want, <-g.got, cmpopts.IgnoreUnexported(telemetry.Record{})); diff != "" {
			t.Errorf("chunked %v: %s", chunked, diff)
		}
	}
}

// Middlewares edit requests in place: what one mirror's do is not done to another's.
func TestMirrorsHaveACopyEach(t *testing.T) {
	edited := make(chan struct{})
	first := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Edited", "1")
		r.Header["Accept"][0] = "edited"
		r.URL.Path = "/edited"
		close(edited)
	})
	got := make(chan string, 1)
	second := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-edited
		got <- fmt.Sprint(r.URL.Path, r.Header["Accept"], r.Header["X-Edited"])
	})
	carrier := service.NewMirrors()
	defer carrier.Close()
	m := service.NewMirroring(service.MirroringOptions{Main: echo("main"), To: []service.Mirror{
		{first, 100, 100},
		{second, 100, 100},
	}, State: service.NewState(), Carrier: carrier})
	ask(t, m, "Accept", "text/plain")
	if text, want := <-got, "/[text/plain][]"; strings.ReplaceAll(text, " ", "") != want {
		t.Errorf("the second mirror got %s, want %s", text, want)
	}
}

func TestBodiesThatAreNotMirrored(t *testing.T) {
	all := handled(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusOK)
	})
	half := handled(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 50))
		w.WriteHeader(http.StatusOK)
	})
	none := handled(func(http.ResponseWriter, *http.Request) {})
	for _, row := range []struct {
		what   string
		main   service.Child
		body   bool
		limit  int64
		memory int64
		size   int
		counts service.MirrorCounts
	}{
		{"whole", all, true, -1, 1 << 20, 100, service.MirrorCounts{Sent: 1}},
		{"at the limit", all, true, 100, 1 << 20, 100, service.MirrorCounts{Sent: 1}},
		{"above the limit", all, true, 99, 1 << 20, 100, service.MirrorCounts{Dropped: 1}},
		{"limit 0", all, true, 0, 1 << 20, 1, service.MirrorCounts{Dropped: 1}},
		{"limit 0 without a body", all, true, 0, 1 << 20, 0, service.MirrorCounts{Sent: 1}},
		{"above the memory", all, true, -1, 4000, 10000, service.MirrorCounts{Dropped: 1}},
		{"half read", half, true, -1, 1 << 20, 100, service.MirrorCounts{Unread: 1}},
		{"not read", none, true, -1, 1 << 20, 100, service.MirrorCounts{Unread: 1}},
		{"not read, not wanted", none, false, -1, 1 << 20, 100, service.MirrorCounts{Sent: 1}},
		{"not wanted", all, false, 10, 1 << 20, 100, service.MirrorCounts{Sent: 1}},
	} {
		for _, chunked := range []bool{false, true} {
			g, carrier, memory := newGlass(), service.NewMirrors(), replay.NewMemory(row.memory)
			m := service.NewMirroring(service.MirroringOptions{
				Main: row.main, To: []service.Mirror{{g, 100, 100}}, Body: row.body, MaxBody: row.limit,
				State: service.NewState(), Carrier: carrier, Memory: memory,
			})
			text := strings.Repeat("x", row.size)
			var source io.Reader = strings.NewReader(text)
			if chunked {
				source = struct{ io.Reader }{source}
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", source)
			r.Header.Set("Content-Length", "7")
			m.ServeHTTP(httptest.NewRecorder(), r)
			if got := carrier.Counts(); got != row.counts {
				t.Errorf("%s, chunked %v: %+v, want %+v", row.what, chunked, got, row.counts)
			} else if got.Sent > 0 {
				got, want := <-g.got, text
				if !row.body {
					want = ""
				}
				if got.Body != want || got.Length != int64(len(want)) || got.Header.Get("Content-Length") != "" {
					t.Errorf("%s, chunked %v: the mirror got %d bytes, length %d, %v", row.what, chunked, len(got.Body), got.Length,
						got.Header)
				}
			}
			carrier.Close()
			if left := memory.Left(); left != row.memory {
				t.Errorf("%s, chunked %v: %d bytes of memory are left of %d", row.what, chunked, left, row.memory)
			}
		}
	}
}

// Whatever mirrors do, the client gets its answer at once: here they never answer, and too many wait.
func TestMirrorsThatHangDelayNoResponse(t *testing.T) {
	const atOnce = 256
	ended := make(chan error, 2*atOnce)
	m, carrier, _ := plain(t, echo("main"), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		ended <- r.Context().Err()
	}))
	server := front(t, m)
	const more = 40
	for i := range atOnce + more {
		text := fmt.Sprint("question ", i)
		response, err := server.Client().Post(server.URL, "text/plain", strings.NewReader(text)) //nolint:noctx // The server of the test.
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if string(body) != text {
			t.Fatalf("answer %q", body)
		}
	}
	// The last request may be counted after its answer is there.
	server.Close()
	if got, want := carrier.Counts(), (service.MirrorCounts{Sent: atOnce, Dropped: more}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	carrier.Close()
	for range atOnce {
		if err := <-ended; err != context.Canceled { //nolint:errorlint // as contexts return it
			t.Fatal(err)
		}
	}
	if m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/",
		http.NoBody)); carrier.Counts().Sent != atOnce {
		t.Error("a request was sent to a mirror after the end")
	}
	carrier.Close() // It may be called again.
}

func TestAMirrorHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := make(chan time.Duration, 1)
		m, _, _ := plain(t, echo("main"), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			start := time.Now()
			<-r.Context().Done()
			took <- time.Since(start)
		}))
		ask(t, m)
		if got := <-took; got != 30*time.Second {
			t.Errorf("the mirror had %s, want %s", got, 30*time.Second)
		}
		synctest.Wait()
	})
}

func TestPanicsOfMirrorsAreContained(t *testing.T) {
	for _, cause := range []any{http.ErrAbortHandler, "odd", nil} {
		m, carrier, _ := plain(t, echo("main"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if cause == nil {
				panic(nil) //nolint:govet // That, too.
			}
			panic(cause)
		}))
		if response, _ := ask(t, m); response.Header.Get("X-Service") != "main" {
			t.Errorf("%v: %v", cause, response.Header)
		}
		carrier.Close()
		if got, want := carrier.Counts(), (service.MirrorCounts{Sent: 1, Broken: 1}); got != want {
			t.Errorf("%v: %+v, want %+v", cause, got, want)
		}
	}
}

func TestAPanicOfMainIsTheServers(t *testing.T) {
	g := newGlass()
	m, carrier, _ := plain(t, handled(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}), g)
	func() {
		defer func() {
			if cause := recover(); cause != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
				t.Errorf("panic %v", cause)
			}
		}()
		m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/",
			strings.NewReader("x")))
	}()
	if got := carrier.Counts(); got != (service.MirrorCounts{}) {
		t.Errorf("%+v, want none", got)
	}
}

func TestUpgradesAreNotMirrored(t *testing.T) {
	m, carrier, _ := plain(t, upgrading("main", true), newGlass())
	conn, reader := dial(t, front(t, m))
	say(t, conn, "GET / HTTP/1.1\r\nHost: x.test\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n")
	all, _ := io.ReadAll(reader)
	if text := string(all); !strings.HasPrefix(text, "HTTP/1.1 101 ") || !strings.HasSuffix(text, "\r\n\r\nmain") {
		t.Errorf("%q", text)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodConnect, "http://x.test/", http.NoBody)
	m.ServeHTTP(httptest.NewRecorder(), r)
	if got := carrier.Counts(); got != (service.MirrorCounts{}) {
		t.Errorf("%+v, want none", got)
	}
}

func TestARequestWhoseClientHasLeftIsNotMirrored(t *testing.T) {
	for name, left := range map[string]func(r *http.Request, cancel func()){
		"context": func(_ *http.Request, cancel func()) { cancel() },
		"record": func(r *http.Request, _ func()) {
			telemetry.RecordFrom(r.Context()).Status = telemetry.StatusClientClosedRequest
		},
	} {
		ctx, cancel := context.WithCancel(telemetry.WithRecord(t.Context(), &telemetry.Record{}))
		defer cancel()
		m, carrier, _ := plain(t, handled(func(_ http.ResponseWriter, r *http.Request) { left(r, cancel) }), newGlass())
		m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
		if got, want := carrier.Counts(), (service.MirrorCounts{Unread: 1}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// The body streams to the main service as it comes, and a body of any size does so without a mirror's limit.
func TestTheBodyStreamsToMain(t *testing.T) {
	step := make(chan string)
	m, carrier, _ := plain(t, handled(func(w http.ResponseWriter, r *http.Request) {
		buffer := make([]byte, 4)
		for range 2 {
			_, _ = io.ReadFull(r.Body, buffer)
			step <- string(buffer)
		}
		w.WriteHeader(http.StatusNoContent)
	}), newGlass())
	conn, reader := dial(t, front(t, m))
	say(t, conn, "POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 8\r\n\r\none.")
	if got := <-step; got != "one." {
		t.Errorf("%q", got)
	}
	say(t, conn, "two.")
	if got := <-step; got != "two." {
		t.Errorf("%q", got)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if carrier.Counts().Sent != 1 {
		t.Errorf("%+v: a body that was read to its length is whole", carrier.Counts())
	}
}

// Many at a time, with several mirrors that share one body.
func TestMirrorsShareABody(t *testing.T) {
	carrier, memory := service.NewMirrors(), replay.NewMemory(1<<20)
	var wrong atomic.Int64
	check := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(body) != 3000 || len(bytes.Trim(body, string(body[:1]))) != 0 ||
			r.Header.Get("X-Id") != string(body[:1]) {
			wrong.Add(1)
		}
	})
	m := service.NewMirroring(service.MirroringOptions{
		Main: echo("main"), To: []service.Mirror{{check, 1, 1}, {check, 1, 2}, {check, 1, 1}}, Body: true, MaxBody: -1,
		State: service.NewState(), Carrier: carrier, Memory: memory,
	})
	var all sync.WaitGroup
	for i := range 26 {
		all.Go(func() {
			letter := string(rune('a' + i))
			for range 10 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/",
					strings.NewReader(strings.Repeat(letter, 3000)))
				r.Header.Set("X-Id", letter)
				m.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
	all.Wait()
	carrier.Close()
	if counts := carrier.Counts(); wrong.Load() > 0 || counts.Sent+counts.Dropped != 650 || memory.Left() != 1<<20 {
		t.Errorf("%d wrong, %+v, %d bytes left", wrong.Load(), counts, memory.Left())
	}
}
