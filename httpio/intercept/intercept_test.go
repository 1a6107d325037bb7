package intercept_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/intercept"
)

// decider decides as it is set, and records the calls.
type decider struct {
	intercept.Writer
	decision intercept.Decision
	send     int
	body     io.Writer
	calls    []int
}

func (d *decider) Decide(status int) (int, intercept.Decision) {
	d.calls = append(d.calls, status)
	d.Body = d.body
	if d.send != 0 {
		status = d.send
	}
	return status, d.decision
}

// server is a server's writer. It keeps what comes, informational responses included, in the order in which it comes.
type server struct {
	httptest.ResponseRecorder
	events []string
	direct io.Reader
}

func newServer() *server { return &server{ResponseRecorder: *httptest.NewRecorder()} }

func (s *server) WriteHeader(status int) {
	s.events = append(s.events, fmt.Sprint(status, s.Header()["X-Head"]))
	if status >= http.StatusOK {
		s.ResponseRecorder.WriteHeader(status)
	}
}

func (s *server) ReadFrom(source io.Reader) (int64, error) {
	s.direct = source
	return io.Copy(s.Body, source)
}

func (*server) Splices() bool { return true }

func newDecider(decision intercept.Decision, to http.ResponseWriter) *decider {
	d := &decider{decision: decision}
	d.Decider = d
	d.Reset(to)
	return d
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestDecisions shows what reaches the client and what the handler sees.
func TestDecisions(t *testing.T) {
	for name, test := range map[string]struct {
		decision          intercept.Decision
		events            []string
		body              string
		splices, discards bool
		flushed           bool
	}{
		"pass":      {intercept.Pass, []string{"201 [a]"}, "onetwothree", true, false, true},
		"pass head": {intercept.PassHead, []string{"201 [a]"}, "", false, true, true},
		"hold":      {intercept.Hold, nil, "", false, false, false},
		"discard":   {intercept.Discard, nil, "", false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.Header().Set("X-Before", "yes")
			d := newDecider(test.decision, s)
			if d.body = nil; test.decision == intercept.Hold {
				d.body = new(bytes.Buffer)
			}
			equal(t, "before the head", []bool{httpio.Splices(d), httpio.Discards(d)}, []bool{false, false})
			d.Header().Set("X-Head", "a")
			d.Header().Del("X-Before")
			d.WriteHeader(201)
			d.Header().Set("X-Head", "late")
			d.WriteHeader(500)
			_, err := d.Write([]byte("one"))
			equal(t, "Write", err, nil)
			_, err = io.WriteString(d, "two")
			equal(t, "WriteString", err, nil)
			source := strings.NewReader("three")
			n, err := d.ReadFrom(source)
			equal(t, "ReadFrom", []any{n, err, s.direct == source}, []any{int64(5), nil, test.splices})
			equal(t, "Flush", http.NewResponseController(d).Flush(), nil)
			equal(t, "flushed", s.Flushed, test.flushed)
			equal(t, "calls", d.calls, []int{201})
			equal(t, "events", s.events, test.events)
			equal(t, "body", s.Body.String(), test.body)
			equal(t, "after the head", []bool{httpio.Splices(d), httpio.Discards(d)}, []bool{test.splices, test.discards})
			d.Restore()
			equal(t, "restored", s.Header(), http.Header{"X-Before": {"yes"}})
		})
	}
}

// TestCommit sends a held response with the head as it was, and leaves what came later for trailers.
func TestCommit(t *testing.T) {
	s, body := newServer(), new(bytes.Buffer)
	d := newDecider(intercept.Hold, s)
	d.body = body
	d.Header().Set("X-Head", "a")
	_, _ = io.WriteString(d, "held")
	d.Header().Set("X-Head", "trailer")
	d.Head["X-Added"] = []string{"yes"}
	equal(t, "before", []any{len(s.events), s.Body.Len(), body.String(), d.Status}, []any{0, 0, "held", 200})
	d.Commit()
	_, _ = io.WriteString(d, "rest")
	equal(t, "events", s.events, []string{"200 [a]"})
	equal(t, "head", s.Result().Header, http.Header{"X-Head": {"a"}, "X-Added": {"yes"}})
	equal(t, "later", s.Header()["X-Head"], []string{"trailer"})
	equal(t, "body", s.Body.String(), "rest")
	equal(t, "decision", d.Decision(), intercept.Pass)
}

// TestStatus is the Decider's.
func TestStatus(t *testing.T) {
	s := newServer()
	d := newDecider(intercept.Pass, s)
	d.send = 418
	d.Begin()
	d.Begin()
	equal(t, "status", []any{s.events, d.Status, d.calls}, []any{[]string{"418 []"}, 200, []int{200}})
}

// TestBody goes where the Decider says, whatever the decision.
func TestBody(t *testing.T) {
	full := errors.New("full")
	for _, decision := range []intercept.Decision{intercept.Pass, intercept.PassHead, intercept.Hold, intercept.Discard} {
		d := newDecider(decision, newServer())
		d.body = limited{full}
		if _, err := d.Write([]byte("x")); !errors.Is(err, full) {
			t.Errorf("%d: %v", decision, err)
		}
		if _, err := d.ReadFrom(strings.NewReader("x")); !errors.Is(err, full) || d.Splices() {
			t.Errorf("%d: %v", decision, err)
		}
	}
}

type limited struct{ err error }

func (l limited) Write([]byte) (int, error) { return 0, l.err }

// TestInterim responses are sent at once or with a response that passes, in their order and with their own header.
func TestInterim(t *testing.T) {
	all := []string{"103 [a]", "102 [b]", "200 [c]"}
	for name, test := range map[string]struct {
		hold         bool
		decision     intercept.Decision
		before, then []string
	}{
		"at once":       {false, intercept.Pass, all[:2], all},
		"at once, lost": {false, intercept.Discard, all[:2], all[:2]},
		"held":          {true, intercept.Pass, nil, all},
		"held, lost":    {true, intercept.Discard, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			d := newDecider(test.decision, s)
			d.HoldInterim = test.hold
			d.Header().Set("X-Head", "a")
			d.WriteHeader(103)
			d.Header().Set("X-Head", "b")
			d.WriteHeader(102)
			d.Header().Set("X-Head", "c")
			equal(t, "before", s.events, test.before)
			equal(t, "informed", d.Informed, !test.hold)
			d.WriteHeader(200)
			d.WriteHeader(103)
			equal(t, "then", s.events, test.then)
		})
	}
	s := newServer()
	d := newDecider(intercept.Pass, s)
	d.HoldInterim = true
	for range 100 {
		d.WriteHeader(103)
	}
	d.WriteHeader(101)
	equal(t, "held", len(s.events), 32+1)
}

// TestDiscardedBodies are accepted up to 64 KiB, and those behind a head without end.
func TestDiscardedBodies(t *testing.T) {
	for _, decision := range []intercept.Decision{intercept.Discard, intercept.PassHead} {
		d, written := newDecider(decision, newServer()), 0
		var err error
		for range 100 {
			var n int
			if n, err = d.Write(make([]byte, 10_000)); err != nil {
				break
			}
			written += n
		}
		want := map[intercept.Decision]int{intercept.Discard: 60_000, intercept.PassHead: 1_000_000}[decision]
		if written != want || errors.Is(err, intercept.ErrDiscarded) != (decision == intercept.Discard) {
			t.Errorf("%d: %d bytes, %v", decision, written, err)
		}
	}
}

// TestServe recovers the end of a response that the client doesn't get, and no other panic.
func TestServe(t *testing.T) {
	odd := errors.New("odd")
	for _, decision := range []intercept.Decision{intercept.Pass, intercept.PassHead, intercept.Hold, intercept.Discard} {
		for _, cause := range []any{nil, http.ErrAbortHandler, odd} {
			for _, begun := range []bool{false, true} {
				d := newDecider(decision, newServer())
				handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if begun {
						w.WriteHeader(200)
					}
					if cause != nil {
						panic(cause)
					}
				})
				returned := false
				got := func() (got any) {
					defer func() { got = recover() }()
					returned = d.Serve(handler, d, nil)
					return nil
				}()
				want := cause
				if begun && decision >= intercept.Hold && cause == http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
					want = nil
				}
				if got != want || returned != (cause == nil) {
					t.Errorf("decision %d, begun %v, panic %v: %v, returned %v", decision, begun, cause, got, returned)
				}
			}
		}
	}
}

// TestEnd refuses late calls, which don't reach the header of another response.
func TestEnd(t *testing.T) {
	over := errors.New("over")
	for _, decision := range []intercept.Decision{intercept.Undecided, intercept.Pass, intercept.Hold, intercept.Discard} {
		s := newServer()
		d := newDecider(decision, s)
		if decision != intercept.Undecided {
			d.WriteHeader(200)
		}
		events := slices.Clone(s.events)
		d.End(over)
		d.WriteHeader(500)
		d.Header().Set("X-Late", "yes")
		_, written := d.Write([]byte("late"))
		_, text := d.WriteString("late")
		_, _, hijacked := d.Hijack()
		if !errors.Is(written, over) || !errors.Is(text, over) || !errors.Is(d.FlushError(), over) || hijacked == nil {
			t.Errorf("%d: %v, %v, %v", decision, written, text, hijacked)
		}
		if s.Header().Get("X-Late") != "" || s.Body.Len() > 0 || !slices.Equal(s.events, events) {
			t.Errorf("%d: %v %q %v", decision, s.Header(), s.Body, s.events)
		}
	}
}

// TestHijack of what the client gets. A writer that can't leaves the response undecided.
func TestHijack(t *testing.T) {
	d := newDecider(intercept.Discard, newServer())
	if _, _, err := d.Hijack(); !errors.Is(err, http.ErrNotSupported) || d.Decision() != intercept.Undecided {
		t.Errorf("%v, %d", err, d.Decision())
	}
	d.WriteHeader(200)
	if _, _, err := d.Hijack(); !errors.Is(err, intercept.ErrDiscarded) {
		t.Error(err)
	}
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		d := newDecider(intercept.Discard, w)
		conn, _, err := http.NewResponseController(d).Hijack()
		if err != nil || d.Decision() != intercept.Pass || len(d.calls) > 0 {
			t.Errorf("%v, %d", err, d.Decision())
		}
		_ = conn.Close()
		close(ended)
	}))
	_, _ = server.Client().Get(server.URL) //nolint:noctx,bodyclose // The connection is closed without a response.
	<-ended
	server.Close()
}

func TestSink(t *testing.T) {
	var s intercept.Sink
	s.Header().Set("X-A", "a")
	s.WriteHeader(500)
	n, err := s.Write(make([]byte, 10))
	m, _ := s.WriteString("text")
	s.Flush()
	equal(t, "sink", []any{n, err, m}, []any{10, nil, 4})
}
