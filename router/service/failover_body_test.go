package service_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/httpio/intercept"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/router/service"
)

// A stream in both directions goes on after the answer has begun, and nothing of it is wanted again.
func TestNothingIsKeptBehindAnAnswerThatPasses(t *testing.T) {
	memory := replay.NewMemory(1 << 20)
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(w http.ResponseWriter, r *http.Request) {
			first := make([]byte, 5)
			_, _ = io.ReadFull(r.Body, first)
			w.WriteHeader(http.StatusOK)
			rest, err := io.ReadAll(r.Body)
			if left := memory.Left(); left != 1<<20 {
				t.Errorf("%d bytes are kept", 1<<20-left)
			}
			if text := string(first) + string(rest); err != nil || text != strings.Repeat("0123456789", 1000) {
				t.Errorf("main has read %d bytes, %v", len(text), err)
			}
		}),
		Fallback: echo("fallback"), Status: codes(t, "5xx"), MaxBody: -1, Memory: memory,
	})
	body := struct{ io.Reader }{strings.NewReader(strings.Repeat("0123456789", 1000))}
	f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body))
}

// deadlines is a writer that records the last deadline.
type deadlines struct {
	http.ResponseWriter
	last time.Time
}

func (d *deadlines) SetReadDeadline(deadline time.Time) error {
	d.last = deadline
	return nil
}

func (d *deadlines) SetWriteDeadline(deadline time.Time) error { return d.SetReadDeadline(deadline) }

// The abandoned main service must not interrupt the fallback.
func TestAfterItsEndAnAnswerMovesNoDeadline(t *testing.T) {
	past := time.Unix(1, 0)
	w := &deadlines{ResponseWriter: httptest.NewRecorder()}
	var left *http.ResponseController
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(main http.ResponseWriter, _ *http.Request) {
			left = http.NewResponseController(main)
			if left.SetReadDeadline(past) != nil || left.SetWriteDeadline(past) != nil || !w.last.Equal(past) {
				t.Errorf("the deadline is %v", w.last)
			}
			main.WriteHeader(http.StatusServiceUnavailable)
			if _, _, err := left.Hijack(); !errors.Is(err, intercept.ErrDiscarded) {
				t.Errorf("Hijack of a discarded answer: %v", err)
			}
			if left.SetWriteDeadline(past) == nil {
				t.Error("a discarded answer sets until when another may be written")
			}
		}),
		Fallback: handled(func(_ http.ResponseWriter, r *http.Request) {
			// The read that main interrupted goes on, for a while.
			if !w.last.After(time.Now()) {
				t.Errorf("the deadline of the fallback is %v", w.last)
			}
			w.last = time.Time{}
			if left.SetReadDeadline(past) == nil || left.SetWriteDeadline(past) == nil || !w.last.IsZero() {
				t.Errorf("the deadline is %v", w.last)
			}
			if text, err := io.ReadAll(r.Body); string(text) != "body" || err != nil {
				t.Errorf("%q, %v", text, err)
			}
		}),
		Status: codes(t, "503"), MaxBody: -1, Memory: replay.NewMemory(1 << 20),
	})
	f.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("body")))
}
