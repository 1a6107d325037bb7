package ratelimit

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func BenchmarkRateLimit(b *testing.B) {
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	idle := func(b *testing.B, config dynamic.RateLimit) {
		m, err := New("m@file", config, Options{})
		if err != nil {
			b.Fatal(err)
		}
		wrapped, r := m.For("router web@file").Wrap(handler), middlewaretest.Request(b, "GET /", "X-Key: k")
		b.ReportAllocs()
		for b.Loop() {
			wrapped.ServeHTTP(nil, r)
		}
	}
	b.Run("no limit", func(b *testing.B) { idle(b, dynamic.RateLimit{}) })
	b.Run("one address", func(b *testing.B) { idle(b, dynamic.RateLimit{Average: 1e9, Burst: 1e9}) })
	b.Run("one header", func(b *testing.B) {
		idle(b, dynamic.RateLimit{
			Average: 1e9, Burst: 1e9,
			SourceCriterion: &dynamic.SourceCriterion{RequestHeaderName: "X-Key"},
		})
	})
	for _, sources := range []int{1, 100, 1_000_000} {
		b.Run("parallel/"+strconv.Itoa(sources), func(b *testing.B) { parallel(b, handler, sources) })
	}
	b.Run("refused", func(b *testing.B) {
		m, _ := limiter(b, dynamic.RateLimit{Average: 1, Burst: 1})
		wrapped, r := m.For("router web@file").Wrap(handler), middlewaretest.Request(b, "GET /")
		w := new(middlewaretest.Writer)
		b.ReportAllocs()
		for b.Loop() {
			wrapped.ServeHTTP(w, r)
		}
	})
}

func parallel(b *testing.B, next http.Handler, sources int) {
	m, err := New("m@file", dynamic.RateLimit{Average: 1e9, Burst: 1e9}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	wrapped, addresses := m.For("router web@file").Wrap(next), remoteAddresses(sources)
	b.ReportAllocs()
	var goroutines atomic.Uint64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		random := rand.New(rand.NewPCG(goroutines.Add(1), 0))
		r := middlewaretest.Request(b, "GET /")
		for pb.Next() {
			r.RemoteAddr = addresses[random.IntN(sources)]
			wrapped.ServeHTTP(nil, r)
		}
	})
}
