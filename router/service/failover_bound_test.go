package service_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/router/service"
)

// endless is a request body without an end.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read += int64(len(p))
	return len(p), nil
}

// A main service that goes on reading behind a discarded response fills no more memory than the limits allow, and the
// fallback gets the whole body.
func TestDiscardedResponseBuffersWithinTheLimit(t *testing.T) {
	const limit, bound, most = 100_000, 1 << 20, 4 << 20
	for _, maxBody := range []int64{limit, -1} {
		memory := replay.NewMemory(bound)
		var main, fallback, lent int64
		f := service.NewFailover(service.FailoverOptions{
			Main: handled(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable)
				main, _ = io.CopyN(io.Discard, r.Body, most)
				lent = bound - memory.Left()
			}),
			Fallback: handled(func(_ http.ResponseWriter, r *http.Request) {
				fallback, _ = io.CopyN(io.Discard, r.Body, most)
			}),
			Status: codes(t, "503"), MaxBody: maxBody, Memory: memory,
		})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", new(endless))
		r.ContentLength = -1
		f.ServeHTTP(httptest.NewRecorder(), r)
		if main > bound || maxBody > 0 && main > maxBody || main == 0 || lent > bound || fallback != most {
			t.Errorf("limit %d: main has read %d bytes, %d are lent, the fallback has read %d", maxBody, main, lent, fallback)
		}
		if left := memory.Left(); left != bound {
			t.Errorf("%d bytes are kept", bound-left)
		}
	}
}

// What main has left running reads nothing that belongs to the fallback, and its context has ended.
func TestFallbackFindsMainEnded(t *testing.T) {
	var left *http.Request
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(w http.ResponseWriter, r *http.Request) {
			left = r
			w.WriteHeader(http.StatusServiceUnavailable)
		}),
		Fallback: handled(func(_ http.ResponseWriter, r *http.Request) {
			if n, err := left.Body.Read(make([]byte, 10)); n > 0 || err == nil || left.Context().Err() == nil {
				t.Errorf("main reads %d bytes, %v; its context: %v", n, err, left.Context().Err())
			}
			if n, err := io.CopyN(io.Discard, r.Body, 1000); n != 1000 || r.Context().Err() != nil {
				t.Errorf("the fallback reads %d bytes, %v", n, err)
			}
		}),
		Status: codes(t, "503"), MaxBody: -1, Memory: replay.NewMemory(1 << 20),
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", new(endless))
	r.ContentLength = -1
	f.ServeHTTP(httptest.NewRecorder(), r)
	if n, err := left.Body.Read(make([]byte, 10)); n > 0 || err == nil {
		t.Errorf("main reads %d bytes after the end, %v", n, err)
	}
}
