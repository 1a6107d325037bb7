package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// failureLog is a logger that keeps all of its lines.
type failureLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *failureLog) add(level, message string, keysAndValues []any) {
	var line strings.Builder
	line.WriteString(level + ": " + message)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		switch key := keysAndValues[i]; key {
		case "tries", "duration", "generation":
		default:
			fmt.Fprintf(&line, " %v=%v", key, keysAndValues[i+1])
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line.String())
}

// take returns the lines since the last call.
func (l *failureLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

func (l *failureLog) Debug(message string, kv ...any) { l.add("debug", message, kv) }
func (l *failureLog) Info(message string, kv ...any)  { l.add("info", message, kv) }
func (l *failureLog) Warn(message string, kv ...any)  { l.add("warn", message, kv) }
func (l *failureLog) Error(message string, kv ...any) { l.add("error", message, kv) }

// whileFailuresRun runs a test in a bubble in which failures are written; they are all written when it returns.
func whileFailuresRun(t *testing.T, test func(t *testing.T, failures *Failures, log *failureLog)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := &failureLog{}
		failures := NewFailures(log)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { failures.Run(ctx); close(done) }()
		defer func() { cancel(); <-done }()
		test(t, failures, log)
	})
}

// pass lets the time of the bubble pass, and all goroutines do what was due.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func refused(router string) *Record {
	return &Record{
		Status: http.StatusBadGateway, Code: CodeUnreachable, Reason: "connection refused", Router: router,
		Service: "s@file",
	}
}

func TestFailuresOfConnectionsAreToldFromThoseOfRequests(t *testing.T) {
	whileFailuresRun(t, func(t *testing.T, failures *Failures, log *failureLog) {
		connection := &Record{
			Protocol: ProtocolTCP, Code: CodeUnreachable, Reason: "connection refused", Router: "a@file", Service: "s@file",
			ServerName: "db.test", Client: "192.0.2.1",
		}
		session := &Record{Protocol: ProtocolUDP, Code: CodeForbidden, Router: "a@file"}
		for _, record := range []*Record{
			connection, connection, connection, session, refused("a@file"), {Protocol: ProtocolTCP, End: "client_eof"},
		} {
			failures.Finished(record)
			synctest.Wait()
		}
		want := []string{
			"warn: TCP connection failed code=endpoint_unreachable router=a@file service=s@file reason=connection refused " +
				"serverName=db.test client=192.0.2.1",
			"debug: UDP session failed code=forbidden router=a@file",
			"warn: request failed status=502 code=endpoint_unreachable router=a@file service=s@file " +
				"reason=connection refused",
		}
		if diff := cmp.Diff(want, log.take()); diff != "" {
			t.Errorf("at once (-want +got):\n%s", diff)
		}
		pass(failureWindow + failureTick)
		want = []string{"warn: more TCP connections failed count=2 during=10s code=endpoint_unreachable router=a@file " +
			"service=s@file"}
		if diff := cmp.Diff(want, log.take()); diff != "" {
			t.Errorf("later (-want +got):\n%s", diff)
		}
	})
}

func TestTheFirstFailureIsLoggedAtOnceAndTheOthersTogether(t *testing.T) {
	whileFailuresRun(t, func(t *testing.T, failures *Failures, log *failureLog) {
		for range 1000 {
			failures.Finished(refused("a@file"))
			synctest.Wait()
		}
		want := []string{"warn: request failed status=502 code=endpoint_unreachable router=a@file service=s@file " +
			"reason=connection refused"}
		if diff := cmp.Diff(want, log.take()); diff != "" {
			t.Errorf("at once (-want +got):\n%s", diff)
		}
		pass(failureWindow + failureTick)
		want = []string{"warn: more requests failed status=5xx count=999 during=10s code=endpoint_unreachable " +
			"router=a@file service=s@file"}
		if diff := cmp.Diff(want, log.take()); diff != "" {
			t.Errorf("after the window (-want +got):\n%s", diff)
		}
		pass(10 * failureWindow)
		if lines := log.take(); len(lines) > 0 {
			t.Errorf("in silence: %q", lines)
		}
		if left := len(*failures.kinds.Load()); left != 0 {
			t.Errorf("%d kinds are kept without requests", left)
		}
		failures.Finished(refused("a@file"))
		synctest.Wait()
		if lines := log.take(); len(lines) != 1 || !strings.Contains(lines[0], "request failed status=502") {
			t.Errorf("the first after silence: %q", lines)
		}
	})
}

func TestFailuresAreDistinguished(t *testing.T) {
	whileFailuresRun(t, func(t *testing.T, failures *Failures, log *failureLog) {
		for range 3 {
			failures.Finished(refused("a@file"))
			failures.Finished(refused("b@file"))
			failures.Finished(&Record{Status: http.StatusServiceUnavailable, Code: CodeSaturated, Router: "a@file"})
			failures.Finished(&Record{Status: http.StatusOK, Code: CodeBroken, Router: "a@file"})
			failures.Finished(&Record{Status: StatusClientClosedRequest, Code: CodeClientLeft, Router: "a@file"})
			failures.Finished(&Record{Status: http.StatusNotFound, Code: CodeNoRouter, Path: "/x"})
			failures.Finished(&Record{Status: http.StatusInternalServerError, Code: CodePanic})
			failures.Finished(&Record{Status: http.StatusBadGateway, Router: "a@file"}) // The endpoint's own answer.
		}
		synctest.Wait()
		want := []string{
			"warn: request failed status=502 code=endpoint_unreachable router=a@file service=s@file reason=connection refused",
			"warn: request failed status=502 code=endpoint_unreachable router=b@file service=s@file reason=connection refused",
			"warn: request failed status=503 code=saturated router=a@file",
			"warn: request failed status=200 code=endpoint_broken router=a@file",
			"info: request failed status=499 code=client_left router=a@file",
			"debug: request failed status=404 code=no_router path=/x",
			"error: request failed status=500 code=panic",
		}
		if diff := cmp.Diff(want, log.take()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestHowSeriousAFailureIs(t *testing.T) {
	for title, test := range map[string]struct {
		record Record
		want   failureSeverity
	}{
		"of a middleware":                {Record{Status: http.StatusForbidden, Code: CodeForbidden}, failureMinor},
		"an API that nothing guards":     {Record{Status: http.StatusForbidden, Code: CodeUnguarded}, failureSerious},
		"an endpoint slow in the middle": {Record{Status: http.StatusOK, Code: CodeTimeout}, failureSerious},
		"an endpoint gone in the middle": {Record{Status: http.StatusOK, Code: CodeBroken}, failureSerious},
		"a response that was cut": {
			Record{Status: http.StatusOK, Code: CodeMiddleware, Broken: true},
			failureSerious,
		},
		"no other kind": {
			Record{Status: http.StatusServiceUnavailable, Code: CodeNoEndpoint},
			failureSerious,
		},
		"a client gone in the middle":     {Record{Status: http.StatusOK, Code: CodeClientLeft}, failureNotable},
		"a client gone before the answer": {Record{Status: StatusClientClosedRequest}, failureNotable},
		"a panic in the middle":           {Record{Status: http.StatusOK, Code: CodePanic}, failureOwn},
	} {
		if got := severityOf(&test.record); got != test.want {
			t.Errorf("%s: %d, want %d", title, got, test.want)
		}
	}
}

func TestTooManyKindsOfFailuresAreLoggedByTheirCode(t *testing.T) {
	whileFailuresRun(t, func(t *testing.T, failures *Failures, log *failureLog) {
		const routers = 2 * failureKinds
		for range 2 {
			for i := range routers {
				failures.Finished(refused(fmt.Sprintf("r%d@file", i)))
				synctest.Wait()
			}
		}
		if lines := log.take(); len(lines) != failureKinds+1 {
			t.Errorf("%d lines at once, want %d", len(lines), failureKinds+1)
		}
		pass(failureWindow + failureTick)
		var overflow int
		lines := log.take()
		for _, line := range lines {
			if strings.Contains(line, "too many routers") {
				overflow++
				if want := fmt.Sprintf("count=%d ", routers-1); !strings.Contains(line, want) || strings.Contains(line, "router=") {
					t.Errorf("%q, want %s", line, want)
				}
			}
		}
		if overflow != 1 || len(lines) != failureKinds+1 {
			t.Errorf("%d lines, %d of the overflow group", len(lines), overflow)
		}
	})
}

func TestCountedFailuresAreLoggedAtTheEnd(t *testing.T) {
	log := &failureLog{}
	failures := NewFailures(log)
	for range 5 {
		failures.Finished(refused("a@file"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failures.Run(ctx)
	if lines := log.take(); len(lines) != 2 || !strings.Contains(lines[1], "count=4 ") {
		t.Errorf("lines %q", lines)
	}
}

// TestNoFailureIsLost has requests fail on many goroutines while kinds are evicted and come back.
func TestNoFailureIsLost(t *testing.T) {
	counted := &counting{}
	failures := NewFailures(counted)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			select {
			case failed := <-failures.queue:
				failures.first(failed)
			default:
				failures.summarize(0)
			}
		}
		failures.Run(ctx)
	}()
	var requests sync.WaitGroup
	const goroutines, each = 4, 2000
	for range goroutines {
		requests.Go(func() {
			for i := range each {
				failures.Finished(refused([]string{"a@file", "b@file", "c@file"}[i%3]))
			}
		})
	}
	requests.Wait()
	cancel()
	<-done
	if sum := counted.sum + int64(failures.Dropped()); sum != goroutines*each { //nolint:gosec // Few are dropped.
		t.Errorf("%d failures reported, %d dropped, want %d together", counted.sum, failures.Dropped(), goroutines*each)
	}
}

// counting is a logger that adds up how many failures are reported.
type counting struct {
	Discard

	sum int64
}

func (c *counting) Warn(message string, keysAndValues ...any) {
	if message == "request failed" {
		c.sum++
	}
	for i := 0; i < len(keysAndValues); i += 2 {
		if keysAndValues[i] == "count" {
			c.sum += keysAndValues[i+1].(int64)
		}
	}
}

func TestARepeatedFailureCostsNoMemory(t *testing.T) {
	failures := NewFailures(Discard{})
	record := refused("a@file")
	failures.first(failureOf(record, kindOf(record)))
	if allocations := testing.AllocsPerRun(100, func() { failures.Finished(record) }); allocations != 0 {
		t.Errorf("%v allocations, want 0", allocations)
	}
}

func TestTheLineOfAFailureKeepsLittle(t *testing.T) {
	log := &failureLog{}
	record := &Record{
		Status: http.StatusBadRequest, Code: CodeBadRequest, Path: "/" + strings.Repeat("p", 10_000),
		Host: strings.Repeat("h", 10_000), Reason: strings.Repeat("r", 10_000),
	}
	failureOf(record, kindOf(record)).write(log)
	if lines := log.take(); len(lines) != 1 || len(lines[0]) > 4*failureText {
		t.Errorf("a line of %d bytes", len(lines[0]))
	}
}

// Benchmarks of failures that are counted, on all processors.
func BenchmarkFailures(b *testing.B) {
	failures := NewFailures(Discard{})
	record := refused("a@file")
	failures.first(failureOf(record, kindOf(record)))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			failures.Finished(record)
		}
	})
}
