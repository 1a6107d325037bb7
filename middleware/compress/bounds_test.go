package compress

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// TestMemoryIsBounded checks the memory of a response, as documented in the README.
func TestMemoryIsBounded(t *testing.T) {
	const streams = 3
	piece := page(1 << 20)
	for _, coding := range made(t, nil).codings {
		open := make([]*stream, streams)
		before := heap()
		for i := range open {
			s, err := coding.begin(io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			open[i] = s
			if _, err := s.encoder.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if each := (heap() - before) / streams; each > costOf(coding.kind) {
			t.Errorf("%s: %d KiB each, at most %d", coding.name, each>>10, costOf(coding.kind)>>10)
		}
		runtime.KeepAlive(open)
		clear(open)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) //nolint:gosec // far from it
}

// TestIdleEncodersAreFreed proves that encoders are kept no longer than they are of use.
func TestIdleEncodersAreFreed(t *testing.T) {
	c := made(t, func(config *dynamic.Compress) { config.Encodings = []string{"br"} })
	before := heap()
	var requests sync.WaitGroup
	for range 16 {
		r := middlewaretest.Request(t, "GET /", "Accept-Encoding: br")
		requests.Go(func() {
			c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = w.Write(text(200_000))
			})).ServeHTTP(new(recorded), r)
		})
	}
	requests.Wait()
	if left := heap() - before; left > 1<<20 {
		t.Errorf("%d KiB are left", left>>10)
	}
	runtime.KeepAlive(c)
}

// TestFlushesByTheClock writes and flushes at the same time, as forwarding does with a response that pauses.
func TestFlushesByTheClock(t *testing.T) {
	for _, size := range []int{1, 300} {
		var pipe recorded
		made(t, nil).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			var clock sync.WaitGroup
			defer clock.Wait()
			clock.Go(func() {
				for range 100 {
					w.(http.Flusher).Flush()
				}
			})
			for range 100 {
				_, _ = w.Write(text(size))
			}
		})).ServeHTTP(&pipe, middlewaretest.Request(t, "GET /", "Accept-Encoding: zstd"))
		response := &http.Response{Header: pipe.Header(), Body: io.NopCloser(&pipe.body)}
		if body := decoded(t, response); len(body) != 100*size {
			t.Errorf("%d bytes, want %d", len(body), 100*size)
		}
	}
}

// TestNothingIsLeftInEncoders breaks a response off whose beginning is in the encoder and behind it, and sends another
// one.
func TestNothingIsLeftInEncoders(t *testing.T) {
	secret := page(200_000)
	for _, encoding := range []string{"gzip", "br", "zstd"} {
		c := made(t, nil)
		r := middlewaretest.Request(t, "GET /", "Accept-Encoding: "+encoding)
		breaking := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(secret)
			panic(http.ErrAbortHandler)
		}))
		whole := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(text(3000))
		}))
		for range 20 {
			func() {
				defer func() { _ = recover() }()
				breaking.ServeHTTP(new(recorded), r)
			}()
			w := new(recorded)
			whole.ServeHTTP(w, r)
			if got := decoded(t, &http.Response{Header: w.Header(), Body: io.NopCloser(&w.body)}); !bytes.Equal(got,
				text(3000)) {
				t.Fatalf("%s: %d bytes", encoding, len(got))
			}
		}
	}
}
