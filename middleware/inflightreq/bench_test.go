package inflightreq

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func BenchmarkInFlightReq(b *testing.B) {
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, criterion := range map[string]*dynamic.SourceCriterion{
		"host":    nil,
		"address": {IPStrategy: &dynamic.IPStrategy{}},
	} {
		limit := limiter(b, dynamic.InFlightReq{Amount: 1000, SourceCriterion: criterion}).For("a").Wrap(handler)
		b.Run(name, func(b *testing.B) {
			r := middlewaretest.Request(b, "GET /")
			b.ReportAllocs()
			for b.Loop() {
				limit.ServeHTTP(nil, r)
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := middlewaretest.Request(b, "GET /")
				for pb.Next() {
					limit.ServeHTTP(nil, r)
				}
			})
		})
	}
}
