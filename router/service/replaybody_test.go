package service

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/httpio/intercept"
)

// unending is a body of x whose end nobody is told of.
type unending struct{}

func (unending) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func (unending) Close() error { return nil }

func keepUnending(declared, limit int64) *replayBody {
	return newReplayBody(&http.Request{Body: unending{}, ContentLength: declared}, limit, NewMemory(1<<20))
}

// Transports stop reading at the declared length, without looking for the end.
func TestABodyIsWholeAtItsDeclaredLength(t *testing.T) {
	for read, want := range map[int64]bool{999: false, 1000: true} {
		k := keepUnending(1000, -1)
		_, _ = io.CopyN(io.Discard, k.reader().body(), read)
		if data, whole := k.whole(); whole != want || whole && len(data) != 1000 {
			t.Errorf("%d of 1000 bytes were read: %d bytes, whole %v", read, len(data), whole)
		}
	}
}

func TestWhatTheLastReaderReadsOnIsNotKept(t *testing.T) {
	k := keepUnending(-1, 100)
	_, _ = io.CopyN(io.Discard, k.reader().body(), 10)
	if !k.settle() {
		t.Fatal("ten bytes are too much")
	}
	last := k.reader()
	last.last = true
	if n, err := io.CopyN(io.Discard, last.body(), 1<<20); n != 1<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if len(k.data) != 10 || k.taken.Load() > 100 {
		t.Errorf("%d bytes are kept, %d reserved", len(k.data), k.taken.Load())
	}
	k.release()
	if left := k.memory.left.Load(); left != 1<<20 {
		t.Errorf("%d bytes of memory are left", left)
	}
}

// What is reserved follows what has come, not what a client says will come.
// A stream in both directions goes on after the answer has begun, and nothing of it is wanted again.
func TestNothingIsKeptBehindAnAnswerThatPasses(t *testing.T) {
	memory := NewMemory(1 << 20)
	f := NewFailover(FailoverOptions{
		Main: handled(func(w http.ResponseWriter, r *http.Request) {
			first := make([]byte, 5)
			_, _ = io.ReadFull(r.Body, first)
			w.WriteHeader(http.StatusOK)
			rest, err := io.ReadAll(r.Body)
			if left := memory.left.Load(); left != 1<<20 {
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

func TestMemoryIsReservedForWhatHasCome(t *testing.T) {
	k := keepUnending(1<<40, -1)
	_, _ = io.CopyN(io.Discard, k.reader().body(), 10<<10)
	if taken := k.taken.Load(); taken < 10<<10 || taken > 64<<10 {
		t.Errorf("%d bytes are reserved for 10 KiB", taken)
	}
	k = keepUnending(10, -1)
	_, _ = io.CopyN(io.Discard, k.reader().body(), 10)
	if taken := k.taken.Load(); taken != 10 {
		t.Errorf("%d bytes are reserved for a body of 10", taken)
	}
}

// A body in memory is read without waiting, and so is what was kept of it.
func TestKeptBodiesAreReadWithoutWaiting(t *testing.T) {
	r := &http.Request{Body: newMemoryBody([]byte("question")), ContentLength: 8}
	k := newReplayBody(r, -1, NewMemory(1<<20))
	type ready interface {
		ReadNow(p []byte) (int, error)
	}
	p := make([]byte, 5)
	for range 2 {
		body := k.reader().body()
		n, err := body.(ready).ReadNow(p)
		if n != 5 || err != nil || string(p) != "quest" {
			t.Errorf("%d, %v, %q", n, err, p)
		}
		if rest, err := io.ReadAll(body); string(rest) != "ion" || err != nil {
			t.Errorf("rest %q, %v", rest, err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
		if _, err := body.Read(p); !errors.Is(err, errGivenUp) {
			t.Errorf("after the end: %v", err)
		}
	}
	k = newReplayBody(r, -1, NewMemory(1<<20))
	k.turn.Lock()
	if n, err := k.reader().body().(ready).ReadNow(p); n != 0 || err != nil {
		t.Errorf("while somebody else waits for the client: %d, %v", n, err)
	}
	if _, waits := k.whole(); waits {
		t.Error("a body that somebody waits for is whole")
	}
	if _, ready := keepUnending(1, -1).reader().body().(ready); ready {
		t.Error("a body that cannot tell what has come says that it can")
	}
}

// deadlines is a writer that remembers the last deadline.
type deadlines struct {
	http.ResponseWriter
	last time.Time
}

func (d *deadlines) SetReadDeadline(deadline time.Time) error {
	d.last = deadline
	return nil
}

func (d *deadlines) SetWriteDeadline(deadline time.Time) error { return d.SetReadDeadline(deadline) }

// Who was left behind must not interrupt the fallback.
func TestAfterItsEndAnAnswerMovesNoDeadline(t *testing.T) {
	status := codes(t, "503")
	w := &deadlines{ResponseWriter: httptest.NewRecorder()}
	s := newResponseInterceptor(w, &status, func() {})
	past := time.Unix(1, 0)
	s.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		if control.SetReadDeadline(past) != nil || control.SetWriteDeadline(past) != nil {
			t.Error("a deadline cannot be set")
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		if _, _, err := control.Hijack(); !errors.Is(err, intercept.ErrDiscarded) {
			t.Errorf("Hijack of a discarded answer: %v", err)
		}
		if control.SetWriteDeadline(past) == nil {
			t.Error("a discarded answer sets until when another may be written")
		}
	}), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", strings.NewReader("")))
	if !w.last.Equal(past) || !s.interrupted {
		t.Errorf("deadline %v, interrupted %v", w.last, s.interrupted)
	}
	w.last = time.Time{}
	if s.SetReadDeadline(past) == nil || s.SetWriteDeadline(past) == nil || !w.last.IsZero() {
		t.Errorf("the deadline is %v", w.last)
	}
}
