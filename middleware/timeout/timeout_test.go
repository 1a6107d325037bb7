package timeout

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// config returns a definition with limits.
func config(request, responseHeader, idle time.Duration) dynamic.Timeout {
	return dynamic.Timeout{
		Request: ptypes.Duration(request), ResponseHeader: ptypes.Duration(responseHeader),
		Idle: ptypes.Duration(idle),
	}
}

func newTimeout(t testing.TB, config dynamic.Timeout) *Timeout {
	t.Helper()
	step, err := New("patient@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

func TestNew(t *testing.T) {
	for want, config := range map[string]dynamic.Timeout{
		"timeout sets none of request, responseHeader and idle": {},
		"timeout.request -1s is negative":                       config(-time.Second, 0, 0),
		"timeout.responseHeader -1ns is negative":               config(time.Second, -1, 0),
		"timeout.idle -2m0s is negative":                        config(0, 0, -2*time.Minute),
	} {
		if step, err := New("patient@file", config); step != nil || err == nil || err.Error() != want {
			t.Errorf("%v, %v, want %q", step, err, want)
		}
	}
	for _, config := range []dynamic.Timeout{
		config(1, 0, 0), config(0, 1, 0), config(0, 0, 1),
		config(1<<62, 1<<62, 1<<62),
	} {
		newTimeout(t, config)
	}
}

func TestReadme(t *testing.T) {
	got := middlewaretest.Examples(t, "README.md")["patient"].Timeout
	want := config(5*time.Minute, 30*time.Second, time.Minute)
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Error(diff)
	}
}

// server is the writer of a server, whose body ends reading with its deadline.
type server struct {
	*httptest.ResponseRecorder
	body     *io.PipeReader
	client   *io.PipeWriter
	lifted   bool
	written  bool
	informed []int
	hijacked net.Conn
	// slow is how long it takes to take a connection over.
	slow time.Duration
}

func newServer() *server {
	s := &server{ResponseRecorder: httptest.NewRecorder()}
	s.body, s.client = io.Pipe()
	return s
}

func (s *server) SetReadDeadline(deadline time.Time) error {
	s.lifted = s.lifted || deadline.IsZero()
	if !deadline.IsZero() && deadline.Before(time.Now()) {
		_ = s.client.CloseWithError(os.ErrDeadlineExceeded)
	}
	return nil
}

func (s *server) SetWriteDeadline(deadline time.Time) error {
	s.written = s.written || deadline.Before(time.Now())
	return nil
}

func (s *server) WriteHeader(status int) {
	if status < 200 {
		s.informed = append(s.informed, status)
		return
	}
	s.ResponseRecorder.WriteHeader(status)
}

func (s *server) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	wait(s.slow)
	return s.hijacked, bufio.NewReadWriter(bufio.NewReader(s.hijacked), bufio.NewWriter(s.hijacked)), nil
}

// serve serves a request, and returns what its handler panicked with.
func (s *server) serve(ctx context.Context, step *Timeout, handler http.HandlerFunc) (cause any) {
	defer func() { cause = recover() }()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", s.body)
	step.Wrap(handler).ServeHTTP(s, r)
	return nil
}

// wait waits in the time of a bubble.
func wait(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

const second = time.Second

// limited is a handler that respects the context of its request, and the time that it gets.
type limited struct {
	name    string
	config  dynamic.Timeout
	handler http.HandlerFunc
	// client sends the body; nil sends nothing.
	client func(body *io.PipeWriter)
	took   time.Duration
	status int
	body   string
	panics bool
	// count is what is counted, reason what is recorded; empty for nothing.
	count, reason string
}

func write(w http.ResponseWriter, every time.Duration, times int) {
	for range times {
		_, _ = io.WriteString(w, "x")
		wait(every)
	}
}

func idleAway(r *http.Request) { <-r.Context().Done() }

func read(r *http.Request) error { _, err := io.Copy(io.Discard, r.Body); return err }

func requestCases() []limited {
	return []limited{
		{
			name: "request: nothing answered", config: config(5*second, 0, 0),
			handler: func(_ http.ResponseWriter, r *http.Request) { idleAway(r) },
			took:    5 * second, status: 504, body: "Gateway Timeout\n", count: "request",
			reason: "the request took longer than request, 5s",
		},
		{
			name: "request: the handler answers for it", config: config(5*second, 0, 0),
			handler: func(w http.ResponseWriter, r *http.Request) {
				idleAway(r)
				http.Error(w, "late", http.StatusGatewayTimeout)
			},
			took: 5 * second, status: 504, body: "late\n", count: "request", reason: "the request took longer than request, 5s",
		},
		{
			name: "request: the response has begun", config: config(5*second, 0, 0),
			handler: func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "x")
				idleAway(r)
				panic(http.ErrAbortHandler)
			},
			took: 5 * second, status: 200, body: "x", panics: true, count: "request",
			reason: "the request took longer than request, 5s",
		},
		{
			name: "request: the handler takes its part for the whole", config: config(5500*time.Millisecond, 0, 0),
			handler: func(w http.ResponseWriter, _ *http.Request) { write(w, second, 10) },
			took:    10 * second, status: 200, body: "xxxxxx", panics: true, count: "request",
			reason: "the request took longer than request, 5.5s",
		},
		{
			name: "request: in time", config: config(5*second, 0, 0),
			handler: func(w http.ResponseWriter, _ *http.Request) { write(w, second, 4) },
			took:    4 * second, status: 200, body: "xxxx",
		},
		{
			name: "request: bounds the client's body", config: config(5*second, 0, 0),
			handler: func(w http.ResponseWriter, r *http.Request) {
				if err := read(r); !errors.Is(err, context.DeadlineExceeded) {
					_, _ = io.WriteString(w, "not sent")
				}
			},
			client: func(body *io.PipeWriter) { _, _ = io.WriteString(body, "x") },
			took:   5 * second, status: 504, body: "Gateway Timeout\n", count: "request",
			reason: "the request took longer than request, 5s",
		},
		{
			name: "an answer that comes too late", config: config(5*second, 0, 0),
			handler: func(w http.ResponseWriter, _ *http.Request) {
				wait(7 * second)
				w.Header().Set("Set-Cookie", "leak=1")
				_, _ = io.WriteString(w, "late")
			},
			took: 7 * second, status: 504, body: "Gateway Timeout\n", count: "request",
			reason: "the request took longer than request, 5s",
		},
		{
			name: "an abort before the response", config: config(5*second, 0, 0),
			handler: func(_ http.ResponseWriter, r *http.Request) { idleAway(r); panic(http.ErrAbortHandler) },
			took:    5 * second, status: 504, body: "Gateway Timeout\n", count: "request",
			reason: "the request took longer than request, 5s",
		},
	}
}

func responseHeaderCases() []limited {
	return []limited{
		{
			name: "responseHeader: nothing answered", config: config(0, 5*second, 0),
			handler: func(_ http.ResponseWriter, r *http.Request) { idleAway(r) },
			took:    5 * second, status: 504, body: "Gateway Timeout\n", count: "response_header",
			reason: "no response began within responseHeader, 5s",
		},
		{
			name: "responseHeader: informational responses are none", config: config(0, 5*second, 0),
			handler: func(w http.ResponseWriter, r *http.Request) { wait(3 * second); w.WriteHeader(103); idleAway(r) },
			took:    5 * second, status: 504, body: "Gateway Timeout\n", count: "response_header",
			reason: "no response began within responseHeader, 5s",
		},
		{
			name: "responseHeader: the body takes its time", config: config(0, 5*second, 0),
			handler: func(w http.ResponseWriter, _ *http.Request) { wait(4 * second); write(w, 10*second, 3) },
			took:    34 * second, status: 200, body: "xxx",
		},
		{
			name: "responseHeader: so does the client", config: config(0, 5*second, 0),
			handler: func(_ http.ResponseWriter, r *http.Request) { _ = read(r); idleAway(r) },
			client:  func(body *io.PipeWriter) { wait(20 * second); _ = body.Close() },
			took:    25 * second, status: 504, body: "Gateway Timeout\n", count: "response_header",
			reason: "no response began within responseHeader, 5s",
		},
	}
}

func idleCases() []limited {
	return []limited{
		{
			name: "idle: the response", config: config(0, 0, 5*second),
			handler: func(w http.ResponseWriter, r *http.Request) {
				write(w, 4*second, 10)
				idleAway(r)
				panic(http.ErrAbortHandler)
			},
			took: 41 * second, status: 200, body: "xxxxxxxxxx", panics: true, count: "idle",
			reason: "nothing moved for idle, 5s",
		},
		{
			name: "idle: the wait for the response", config: config(0, 0, 5*second),
			handler: func(_ http.ResponseWriter, r *http.Request) { idleAway(r) },
			took:    5 * second, status: 504, body: "Gateway Timeout\n", count: "idle", reason: "nothing moved for idle, 5s",
		},
		{
			name: "idle: responseHeader has the say on that", config: config(0, 30*second, 5*second),
			handler: func(w http.ResponseWriter, r *http.Request) {
				wait(29 * second)
				_, _ = io.WriteString(w, "x")
				idleAway(r)
			},
			took: 34 * second, status: 200, body: "x", panics: true, count: "idle", reason: "nothing moved for idle, 5s",
		},
		{
			name: "idle: hints", config: config(0, 0, 5*second),
			handler: func(w http.ResponseWriter, r *http.Request) { wait(4 * second); w.WriteHeader(103); idleAway(r) },
			took:    9 * second, status: 504, body: "Gateway Timeout\n", count: "idle", reason: "nothing moved for idle, 5s",
		},
		{
			name: "idle: the client", config: config(0, 30*second, 5*second),
			handler: func(w http.ResponseWriter, r *http.Request) {
				if err := read(r); !errors.Is(err, os.ErrDeadlineExceeded) || r.Context().Err() != nil {
					_, _ = io.WriteString(w, "not sent")
				}
			},
			client: func(body *io.PipeWriter) {
				for range 10 {
					_, _ = io.WriteString(body, "x")
					wait(4 * second)
				}
			},
			took: 41 * second, status: 408, body: "Request Timeout\n", count: "idle_client",
			reason: "the client sent nothing of its body for idle, 5s",
		},
		{
			name: "idle: the client, and the handler goes on", config: config(0, 0, 5*second),
			handler: func(_ http.ResponseWriter, r *http.Request) { _ = read(r); idleAway(r) },
			took:    6 * second, status: 408, body: "Request Timeout\n", count: "idle_client",
			reason: "the client sent nothing of its body for idle, 5s",
		},
		{
			name: "idle: both are silent", config: config(0, 0, 5*second),
			handler: func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "x")
				_ = read(r)
				panic(http.ErrAbortHandler)
			},
			took: 5 * second, status: 200, body: "x", panics: true, count: "idle", reason: "nothing moved for idle, 5s",
		},
	}
}

func TestLimits(t *testing.T) {
	for _, test := range slices.Concat(requestCases(), responseHeaderCases(), idleCases()) {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, step, record, start := newServer(), newTimeout(t, test.config), new(telemetry.Record), time.Now()
				if test.client != nil {
					go test.client(s.client)
				}
				cause := s.serve(telemetry.WithRecord(t.Context(), record), step, test.handler)
				if took := time.Since(start); took != test.took {
					t.Errorf("it took %v, want %v", took, test.took)
				}
				if (cause == http.ErrAbortHandler) != test.panics { //nolint:errorlint // as net/http compares it
					t.Errorf("the handler panicked with %v", cause)
				}
				if s.Code != test.status || s.Body.String() != test.body || len(s.Header()["Set-Cookie"]) > 0 {
					t.Errorf("the client got %d %q %v", s.Code, s.Body, s.Header())
				}
				for event, count := range step.Counts() {
					if want := event == test.count; (count == 1) != want {
						t.Errorf("%s is counted %d times", event, count)
					}
				}
				if want := "middleware patient@file: " + test.reason; test.reason != "" && record.Reason != want {
					t.Errorf("the reason is %q", record.Reason)
				}
				if test.panics && !s.written {
					t.Error("who writes is not interrupted")
				}
				if lifted := test.config.Request > 0 || test.config.Idle > 0; s.lifted != lifted {
					t.Errorf("the server's own limit was lifted: %v", s.lifted)
				}
				_ = s.client.Close()
			})
		})
	}
}

func TestClientThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, step := newServer(), newTimeout(t, config(time.Hour, time.Hour, time.Hour))
		go func() { wait(time.Second); cancel() }()
		if cause := s.serve(ctx, step, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			if err := r.Context().Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("the context says %v", err)
			}
		}); cause != nil {
			t.Error(cause)
		}
		if len(s.Header()) > 0 || s.Body.Len() > 0 {
			t.Errorf("the client got %d %q", s.Code, s.Body)
		}
	})
}

func TestPanicsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, over := range []bool{false, true} {
			s, step := newServer(), newTimeout(t, config(time.Second, 0, 0))
			cause := s.serve(t.Context(), step, func(_ http.ResponseWriter, r *http.Request) {
				if over {
					<-r.Context().Done()
				}
				panic("bug")
			})
			if cause != "bug" || s.Body.Len() > 0 {
				t.Errorf("over %v: %v, %q", over, cause, s.Body)
			}
		}
		s, step := newServer(), newTimeout(t, config(time.Second, 0, 0))
		//nolint:errorlint // as net/http compares it
		if cause := s.serve(t.Context(), step, func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}); cause != http.ErrAbortHandler {
			t.Errorf("the server sees %v", cause)
		}
	})
}
