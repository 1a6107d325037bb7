package timeout

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// TestUpgrades are bounded by idle alone once they speak another protocol.
func TestUpgrades(t *testing.T) {
	for name, test := range map[string]struct {
		config dynamic.Timeout
		lives  time.Duration
	}{
		"request":        {config(5*time.Second, 0, 0), time.Hour},
		"responseHeader": {config(0, 5*time.Second, 0), time.Hour},
		"idle":           {config(0, 0, 5*time.Second), 45 * time.Second},
		"all":            {config(5*time.Second, 5*time.Second, 5*time.Second), 45 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, step := newServer(), newTimeout(t, test.config)
				near, far := net.Pipe()
				s.hijacked = near
				go func() { _, _ = io.Copy(io.Discard, far) }()
				start := time.Now()
				s.serve(t.Context(), step, func(w http.ResponseWriter, r *http.Request) {
					conn, _, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Fatal(err)
					}
					for range 10 {
						wait(4 * time.Second)
						_, _ = io.WriteString(conn, "x")
					}
					select {
					case <-r.Context().Done():
					case <-time.NewTimer(time.Hour - 40*time.Second).C:
					}
				})
				if took := time.Since(start); took != test.lives {
					t.Errorf("it lived %v, want %v", took, test.lives)
				}
				_, _ = near.Close(), far.Close()
			})
		})
	}
}

// TestUpgradeAtTheLimit ends a connection whose time is over before the handler has it.
func TestUpgradeAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, step := newServer(), newTimeout(t, config(5*time.Second, 0, 0))
		near, far := net.Pipe()
		s.hijacked, s.slow = near, 6*time.Second
		cause := s.serve(t.Context(), step, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Time{}) // The protocol begins without the server's deadlines.
			// A connection that goes on is read until then.
			defer time.AfterFunc(time.Minute, func() { _ = far.Close() }).Stop()
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the connection goes on: %v", err)
			}
			if _, err := w.Write([]byte("late")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the response goes on: %v", err)
			}
		})
		if cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way.
			t.Errorf("the handler ended with %v", cause)
		}
		_ = near.Close()
	})
}

// TestScope is about what is derived from the context of a request.
func TestScope(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		s, step := newServer(), newTimeout(t, config(time.Second, 0, 0))
		s.serve(context.WithValue(t.Context(), key{}, "value"), step, func(_ http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			called, stopped := make(chan struct{}), false
			context.AfterFunc(ctx, func() { close(called) })
			stop := context.AfterFunc(ctx, func() { stopped = true })
			if !stop() || stop() {
				t.Error("a call can't be stopped once")
			}
			if ctx.Err() != nil || ctx.Value(key{}) != "value" {
				t.Errorf("%v, %v", ctx.Err(), ctx.Value(key{}))
			}
			<-child.Done()
			<-called
			<-ctx.Done()
			<-ctx.Done()
			late := make(chan struct{})
			if context.AfterFunc(ctx, func() { close(late) })() {
				t.Error("a call after the end can be stopped")
			}
			<-late
			for _, err := range []error{ctx.Err(), context.Cause(ctx), child.Err(), context.Cause(child)} {
				if !errors.Is(err, context.DeadlineExceeded) || stopped {
					t.Errorf("the end is %v, stopped %v", err, stopped)
				}
			}
		})
	})
}

// TestWriterPassesAll has everything that a server's writer can do reach it.
func TestWriterPassesAll(t *testing.T) {
	s, step := newServer(), newTimeout(t, config(time.Hour, 0, time.Hour))
	s.serve(t.Context(), step, func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "a")
		_, _ = w.Write([]byte("b"))
		n, err := w.(io.ReaderFrom).ReadFrom(io.LimitReader(strings.NewReader(strings.Repeat("c", 200_000)), 150_000))
		if n != 150_000 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		n, err = w.(io.ReaderFrom).ReadFrom(strings.NewReader(strings.Repeat("c", 100_000)))
		if n != 100_000 || err != nil || control.Flush() != nil || !s.Flushed {
			t.Errorf("%d, %v", n, err)
		}
		if httpio.Splices(w) {
			t.Error("it splices")
		}
	})
	if want := "ab" + strings.Repeat("c", 250_000); s.Code != http.StatusTeapot || s.Body.String() != want ||
		len(s.informed) != 1 {
		t.Errorf("got %d, %d bytes, %v", s.Code, s.Body.Len(), s.informed)
	}
}

func BenchmarkTimeout(b *testing.B) {
	for name, config := range map[string]dynamic.Timeout{"request": config(time.Hour, 0, 0), "all": config(time.Hour,
		time.Hour, time.Hour)} {
		b.Run(name, func(b *testing.B) {
			handler := newTimeout(b, config).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusOK)
			}))
			r := middlewaretest.Request(b, "GET /")
			w := new(middlewaretest.Writer)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
