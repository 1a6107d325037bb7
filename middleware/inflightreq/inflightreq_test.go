package inflightreq

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func limiter(t testing.TB, config dynamic.InFlightReq) *InFlightReq {
	t.Helper()
	m, err := New("m@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// held returns the number of requests that are under way when each of those that pass stays, one header after the
// other.
func held(t *testing.T, handlers []http.Handler, headers ...string) (statuses []int) {
	t.Helper()
	var enter func(i int)
	enter = func(i int) {
		if i == len(headers) {
			return
		}
		w := new(middlewaretest.Writer)
		r := middlewaretest.Request(t, "GET /", headers[i])
		inside := func() { enter(i + 1) }
		handlers[i%len(handlers)].ServeHTTP(w, r.WithContext(context.WithValue(t.Context(), insideKey{}, inside)))
		if w.Status == http.StatusTooManyRequests {
			statuses = append(statuses, w.Status)
			inside()
			return
		}
		statuses = append(statuses, http.StatusOK)
	}
	enter(0)
	slices.Reverse(statuses)
	return statuses
}

type insideKey struct{}

// nested is a service that sends the next request before it returns.
func nested() http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { r.Context().Value(insideKey{}).(func())() })
}

func TestReadme(t *testing.T) {
	definitions := middlewaretest.Examples(t, "README.md")
	for name, amount := range map[string]int{"few-per-host": 10, "few-per-client": 4} {
		m := limiter(t, *definitions[name].InFlightReq)
		headers := slices.Repeat([]string{"X-Forwarded-For: 2001:db8::1"}, 20)
		statuses := held(t, []http.Handler{m.For("a").Wrap(nested()), m.For("b").Wrap(nested())}, headers...)
		passed := len(statuses) - int(m.Counts()["refused"])
		want := amount
		if m.shared == nil {
			want *= 2
		}
		if passed != want || len(statuses) != 20 {
			t.Errorf("%s: %d of %d requests passed, want %d", name, passed, len(statuses), want)
		}
	}
}

func TestOptions(t *testing.T) {
	tests := []struct {
		name      string
		criterion *dynamic.SourceCriterion
		headers   []string
		refused   uint64
	}{
		{"host by default", nil, []string{"Host: a", "Host: a", "Host: A.:80", "Host: b"}, 1},
		{"header", &dynamic.SourceCriterion{RequestHeaderName: "X-Key"}, []string{
			"X-Key: a", "X-Key: a", "X-Key: a",
			"X-Key: b", "A: 1",
		}, 1},
		{"no header", &dynamic.SourceCriterion{RequestHeaderName: "X-Key"}, []string{"A: 1", "A: 2", "A: 3"}, 1},
		{"peer", &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{}}, []string{
			"Host: a", "Host: b", "Host: c",
			"Host: d",
		}, 2},
		{"depth", &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{Depth: 1}}, []string{
			"X-Forwarded-For: ::1",
			"X-Forwarded-For: ::1", "X-Forwarded-For: ::1", "X-Forwarded-For: ::2",
		}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := limiter(t, dynamic.InFlightReq{Amount: 2, SourceCriterion: test.criterion})
			owner := m.For("router web@file")
			held(t, []http.Handler{owner.Wrap(nested())}, test.headers...)
			if got := m.Counts()["refused"]; got != test.refused {
				t.Errorf("%d were refused, want %d", got, test.refused)
			}
			if state, levels := owner.(*step).Status(); state != "" || levels["in_flight"] != 0 {
				t.Errorf("afterwards it stands %q, %v", state, levels)
			}
		})
	}
}

func TestErrorsNameTheOption(t *testing.T) {
	for want, config := range map[string]dynamic.InFlightReq{
		"inFlightReq.amount is 0, and must be":  {},
		"inFlightReq.amount is -1, and must be": {Amount: -1},
		"inFlightReq.sourceCriterion sets ": {
			Amount:          1,
			SourceCriterion: &dynamic.SourceCriterion{RequestHost: true, RequestHeaderName: "X"},
		},
		"inFlightReq.sourceCriterion.ipStrategy.excludedIPs:": {
			Amount:          1,
			SourceCriterion: &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{ExcludedIPs: []string{"x"}}},
		},
	} {
		m, err := New("m@file", config)
		if m != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", config, err, want)
		}
	}
}

// TestAnswer compares the whole response with the documentation, and checks the owner's state meanwhile.
func TestAnswer(t *testing.T) {
	m := limiter(t, dynamic.InFlightReq{Amount: 1})
	owner := m.For("router web@file")
	record := new(telemetry.Record)
	w := httptest.NewRecorder()
	var handler http.Handler
	inner := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if _, levels := owner.(*step).Status(); levels["in_flight"] != 1 {
			t.Errorf("it stands at %v", levels)
		}
		handler.ServeHTTP(w, middlewaretest.Request(t, "GET /").WithContext(telemetry.WithRecord(t.Context(), record)))
	})
	handler = owner.Wrap(inner)
	handler.ServeHTTP(httptest.NewRecorder(), middlewaretest.Request(t, "GET /"))

	var got strings.Builder
	fmt.Fprintf(&got, "%d\n", w.Code)
	for _, name := range slices.Sorted(maps.Keys(w.Header())) {
		fmt.Fprintf(&got, "%s: %s\n", name, strings.Join(w.Header()[name], ", "))
	}
	fmt.Fprintf(&got, "\n%s", w.Body)
	const file = "testdata/429.golden"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
	if record.Reason != "middleware m@file: too many requests of the source are under way" {
		t.Errorf("the reason is %q", record.Reason)
	}
}

func TestAPanicIsCountedOutAndReachesTheServer(t *testing.T) {
	m := limiter(t, dynamic.InFlightReq{Amount: 1})
	owner := m.For("router web@file")
	handler := owner.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	for range 3 {
		func() {
			defer func() {
				if cause, _ := recover().(error); !errors.Is(cause, http.ErrAbortHandler) {
					t.Errorf("the server sees %v", cause)
				}
			}()
			handler.ServeHTTP(new(middlewaretest.Writer), middlewaretest.Request(t, "GET /"))
		}()
	}
	if _, levels := owner.(*step).Status(); levels["in_flight"] != 0 || m.Counts()["refused"] != 0 {
		t.Errorf("it stands at %v, counts %v", levels, m.Counts())
	}
}

// TestARequestCountsWhileItStreams holds a response open and takes over a connection, on a real server: both count
// until they end.
func TestARequestCountsWhileItStreams(t *testing.T) {
	m := limiter(t, dynamic.InFlightReq{Amount: 1})
	owner := m.For("router web@file")
	left := make(chan struct{}, 4)
	inner := owner.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, "first\n")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			_, _ = io.Copy(w, r.Body)
			w.Header().Set(http.TrailerPrefix+"X-Trailer", "end")
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\nfirst\n")
		_, _ = io.Copy(conn, buffered)
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r)
		left <- struct{}{}
	}))
	defer server.Close()

	for name, head := range map[string]string{
		"stream":  "POST / HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
		"upgrade": "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			first, reader := dial(t, server, head)
			for line := ""; line != "first\n"; {
				var err error
				if line, err = reader.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			_, second := dial(t, server, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
			if line, err := second.ReadString('\n'); err != nil || !strings.Contains(line, "429") {
				t.Errorf("meanwhile the answer is %q, %v", line, err)
			}
			<-left
			if name == "stream" {
				_, _ = io.WriteString(first, "0\r\n\r\n")
			} else if err := first.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(reader)
			if err != nil || name == "stream" && !strings.Contains(string(rest), "X-Trailer: end") {
				t.Errorf("the response ends with %q, %v", rest, err)
			}
			<-left
			if _, levels := owner.(*step).Status(); levels["in_flight"] != 0 {
				t.Errorf("afterwards it stands at %v", levels)
			}
		})
	}
}

func dial(t *testing.T, server *httptest.Server, head string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// TestManyAtOnce has more goroutines than a source may: never more than the amount are inside, and those that leave
// make room.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := limiter(t, dynamic.InFlightReq{Amount: 3})
		var inside, most atomic.Int64
		gate := make(chan struct{})
		owner := m.For("router web@file")
		handler := owner.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			most.Store(max(most.Load(), inside.Add(1)))
			<-gate
			inside.Add(-1)
		}))
		for round := range 20 {
			var group sync.WaitGroup
			for range 10 {
				r := middlewaretest.Request(t, "GET /")
				group.Go(func() { handler.ServeHTTP(new(middlewaretest.Writer), r) })
			}
			synctest.Wait()
			if _, levels := owner.(*step).Status(); levels["in_flight"] != 3 || inside.Load() != 3 {
				t.Errorf("round %d: it stands at %v with %d inside", round, levels, inside.Load())
			}
			for range 3 {
				gate <- struct{}{}
			}
			group.Wait()
		}
		if most.Load() > 3 || m.Counts()["refused"] != 140 {
			t.Errorf("%d were inside, counts %v", most.Load(), m.Counts())
		}
	})
}

// TestASourceDoesNotKeepItsFirstHead holds the keys of sources whose heads were large, as a source with requests
// under way does.
func TestASourceDoesNotKeepItsFirstHead(t *testing.T) {
	m := limiter(t, dynamic.InFlightReq{Amount: 2, SourceCriterion: &dynamic.SourceCriterion{RequestHeaderName: "X-Key"}})
	s := m.For("router web@file").(*step)
	const sources, size = 1000, 16 << 10
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tokens := map[string]bool{}
	for i := range sources {
		head := fmt.Sprintf("key %4d", i) + strings.Repeat("x", size)
		r := middlewaretest.Request(t, "GET /")
		r.Header["X-Key"] = []string{head[:8]}
		token, amount, err := s.token(r)
		if err != nil || amount != 1 {
			t.Fatal(amount, err)
		}
		tokens[token] = true
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > sources*size/10 || len(tokens) != sources {
		t.Errorf("%d bytes are held for %d requests of %d", held, len(tokens), size)
	}
}

// TestHandlersOfOneOwnerCountTogether has a router on two entrypoints, whose handlers are two.
func TestHandlersOfOneOwnerCountTogether(t *testing.T) {
	s := limiter(t, dynamic.InFlightReq{Amount: 1}).For("router web@file")
	refused := 0
	other := s.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the limit is passed") }))
	writer := new(middlewaretest.Writer)
	s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if w != http.ResponseWriter(writer) {
			t.Errorf("the handler writes to %T", w)
		}
		answer := httptest.NewRecorder()
		other.ServeHTTP(answer, middlewaretest.Request(t, "GET /"))
		if answer.Code == http.StatusTooManyRequests {
			refused++
		}
	})).ServeHTTP(writer, middlewaretest.Request(t, "GET /"))
	if refused != 1 {
		t.Errorf("%d refused", refused)
	}
}
