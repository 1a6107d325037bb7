package compress

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestRoomFollowsTheMemoryLimit(t *testing.T) {
	for limit, want := range map[int64]int64{math.MaxInt64: mostRoom, 1 << 30: 256 << 20, 1 << 20: leastRoom} {
		if got := roomBytes(limit); got != want {
			t.Errorf("limit %d: %d, want %d", limit, got, want)
		}
	}
	if room := made(t, nil).room.left.Load(); room < leastRoom || room > mostRoom {
		t.Errorf("a new one has room for %d bytes", room)
	}
}

// TestCrowded demands that responses are sent as they are while the encoders of others, such as those to clients that
// read slowly, take all the room, and are compressed again when these have ended in whichever way.
func TestCrowded(t *testing.T) {
	c := made(t, func(config *dynamic.Compress) { config.Encodings = []string{"gzip", "br", "zstd"} })
	send := func(encoding, kind string, within func()) *recorded {
		w := new(recorded)
		c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if kind != "" {
				w.Header().Set("Content-Type", kind)
			}
			_, _ = w.Write(text(5000))
			within()
		})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: "+encoding))
		return w
	}
	for _, encoding := range []string{"gzip", "br", "zstd"} {
		c.room.left.Store(costOf(kindOf(encoding)))
		for _, kind := range []string{"text/plain", ""} {
			outer := send(encoding, "text/plain", func() {
				w := send(encoding, kind, func() {})
				if w.Header().Get("Content-Encoding") != "" || w.Header().Get("Vary") != "" || !bytes.Equal(w.body.Bytes(),
					text(5000)) || w.Status != http.StatusOK {
					t.Errorf("%s, crowded: %d, %v, %d bytes", encoding, w.Status, w.Header(), w.body.Len())
				}
			})
			if got := decoded(t, &http.Response{Header: outer.Header(), Body: io.NopCloser(&outer.body)}); !bytes.Equal(got,
				text(5000)) || outer.Header().Get("Content-Encoding") != encoding {
				t.Errorf("%s: %v, %d bytes", encoding, outer.Header(), len(got))
			}
		}
		func() {
			defer func() { _ = recover() }()
			send(encoding, "text/plain", func() { panic(http.ErrAbortHandler) })
		}()
		if left := c.room.left.Load(); left != costOf(kindOf(encoding)) {
			t.Errorf("%s: %d bytes are left", encoding, left)
		}
	}
	if counts := c.Counts(); counts["crowded"] != 6 || counts["skipped"] != 6 || counts["compressed"] != 9 {
		t.Errorf("%v", counts)
	}
}

// recyclable is a handler that keeps nothing.
type recyclable struct{ http.Handler }

func (recyclable) NoRetain() {}

// TestRecycledWriterIsClean checks that a recycled writer has no state of the last response.
func TestRecycledWriterIsClean(t *testing.T) {
	c := made(t, nil)
	writers := make(map[http.ResponseWriter]bool)
	handler := c.Wrap(recyclable{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writers[w] = true
		telemetry.RecordFrom(r.Context()).Released = true
		w.Header().Set("X-Path", r.URL.Path)
		switch r.URL.Path {
		case "/large":
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", "5000")
			_, _ = w.Write(text(5000))
		case "/streamed":
			w.Header().Set("Content-Type", "text/plain")
			for part := range slices.Chunk(text(5000), 50) {
				_, _ = w.Write(part)
			}
		case "/small":
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write(text(50))
		case "/picture":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(text(5000))
		}
	})})
	sizes := map[string]int{"/large": 5000, "/nothing": 0, "/streamed": 5000, "/small": 50, "/picture": 5000}
	var order []string // Each one follows each other one.
	for first := range sizes {
		for second := range sizes {
			order = append(order, first, second)
		}
	}
	const rounds = 3
	for range rounds {
		for _, path := range order {
			size := sizes[path]
			r := middlewaretest.Request(t, "GET "+path, "Accept-Encoding: zstd")
			recorder := httptest.NewRecorder() // It keeps the head as it was when it was sent.
			handler.ServeHTTP(recorder, r.WithContext(telemetry.WithRecord(r.Context(), new(telemetry.Record))))
			w := recorder.Result()
			got := decoded(t, w)
			compressed := w.Header.Get("Content-Encoding") != ""
			if !bytes.Equal(got, text(size)) || compressed != (path == "/large" || path == "/streamed") ||
				w.Header.Get("X-Path") != path || path == "/small" && w.StatusCode != http.StatusAccepted {
				t.Fatalf("%s: %d, %v, %d bytes", path, w.StatusCode, w.Header, len(got))
			}
		}
	}
	if len(writers) > rounds*len(order)*3/4 {
		t.Errorf("%d writers for %d responses", len(writers), rounds*len(order))
	}
}

// TestWriterIsKept checks that a writer that may be retained is not recycled.
func TestWriterIsKept(t *testing.T) {
	for _, released := range []bool{true, false} {
		c := made(t, nil)
		writers := make(map[http.ResponseWriter]bool)
		var next http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			writers[w] = true
			telemetry.RecordFrom(r.Context()).Released = released
		})
		if !released {
			next = recyclable{next}
		}
		handler := c.Wrap(next)
		if _, says := handler.(httpio.NoRetainer); says {
			t.Error("the handler speaks for those behind it")
		}
		for range 20 {
			r := middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip")
			handler.ServeHTTP(new(recorded), r.WithContext(telemetry.WithRecord(r.Context(), new(telemetry.Record))))
		}
		if len(writers) != 20 {
			t.Errorf("released %v: %d writers", released, len(writers))
		}
	}
}
