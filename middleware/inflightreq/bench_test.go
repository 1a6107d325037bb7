package inflightreq

import (
	"net/http"
	"testing"

	"github.com/vulcand/oxy/v2/connlimit"
	"github.com/vulcand/oxy/v2/utils"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// BenchmarkInFlightReq compares with the limiter of vulcand/oxy, which has one lock and keeps the text of every source.
func BenchmarkInFlightReq(b *testing.B) {
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, criterion := range map[string]*dynamic.SourceCriterion{"host": nil, "address": {IPStrategy: &dynamic.IPStrategy{}}} {
		m := limiter(b, dynamic.InFlightReq{Amount: 1000, SourceCriterion: criterion})
		theirs, err := connlimit.New(handler, utils.ExtractorFunc(func(r *http.Request) (string, int64, error) {
			key, _ := m.source.Key(r)
			return key.String(), 1, nil
		}), 1000)
		if err != nil {
			b.Fatal(err)
		}
		for who, limit := range map[string]http.Handler{"": m.For("a").Wrap(handler), "oxy/": theirs} {
			b.Run(who+name, func(b *testing.B) {
				r := middlewaretest.Request(b, "GET /")
				b.ReportAllocs()
				for b.Loop() {
					limit.ServeHTTP(nil, r)
				}
			})
			b.Run(who+name+"/parallel", func(b *testing.B) {
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
}
