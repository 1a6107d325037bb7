package compress

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// BenchmarkNothingToDo is a request whose response must not be compressed.
func BenchmarkNothingToDo(b *testing.B) {
	for _, headers := range [][]string{
		{"X-Other: without Accept-Encoding"},
		{"Accept-Encoding: identity"},
		{"Accept-Encoding: deflate"},
	} {
		b.Run(headers[0], func(b *testing.B) {
			handler := made(b, nil).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			r := middlewaretest.Request(b, "GET /", headers...)
			w := new(middlewaretest.Writer)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}

// BenchmarkSkipped is a response of an excluded type, with a recyclable writer.
func BenchmarkSkipped(b *testing.B) {
	skipped(b, func(next http.Handler) http.Handler { return recyclable{next} })
}

// BenchmarkSkippedKept is the same without recycling.
func BenchmarkSkippedKept(b *testing.B) {
	skipped(b, func(next http.Handler) http.Handler { return next })
}

func skipped(b *testing.B, around func(http.Handler) http.Handler) {
	record := new(telemetry.Record)
	handler := made(b, nil).Wrap(around(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		record.Released = true
		w.WriteHeader(http.StatusOK)
	})))
	r := middlewaretest.Request(b, "GET /", "Accept-Encoding: gzip, deflate, br, zstd")
	r = r.WithContext(telemetry.WithRecord(r.Context(), record))
	w := new(middlewaretest.Writer)
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Length", "10000")
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(w, r)
	}
}

// BenchmarkCompressed is a response of a declared length.
func BenchmarkCompressed(b *testing.B) {
	for _, encoding := range []string{"gzip", "br", "zstd"} {
		for _, size := range []int{2 << 10, 16 << 10, 128 << 10} {
			b.Run(encoding+"/"+strconv.Itoa(size), func(b *testing.B) {
				body := page(size)
				length := strconv.Itoa(size)
				handler := made(b, nil).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Content-Type"] = []string{"text/html"}
					w.Header()["Content-Length"] = []string{length}
					_, _ = w.Write(body)
				}))
				r := middlewaretest.Request(b, "GET /", "Accept-Encoding: "+encoding)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					handler.ServeHTTP(new(middlewaretest.Writer), r)
				}
			})
		}
	}
}
