package ipallowlist

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// BenchmarkLetsIn is what a request costs that is let in.
func BenchmarkLetsIn(b *testing.B) {
	for name, strategy := range map[string]*dynamic.IPStrategy{
		"peer": nil, "depth": {Depth: 2}, "excluded": {ExcludedIPs: []string{"10.0.0.0/8"}},
	} {
		b.Run(name, func(b *testing.B) {
			handler := build(b, dynamic.IPAllowList{
				SourceRange: []string{"192.0.2.0/24", "10.0.0.0/8", "2001:db8::/32"},
				IPStrategy:  strategy,
			}).
				Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			r := middlewaretest.Request(b, "GET /", "X-Forwarded-For: 198.51.100.1, 192.0.2.7, 10.0.0.1")
			w := new(middlewaretest.Writer)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
			if w.Status != 0 {
				b.Fatalf("status %d", w.Status)
			}
		})
	}
}

func TestLettingInDoesNotAllocate(t *testing.T) {
	handler := build(t, dynamic.IPAllowList{SourceRange: []string{"192.0.2.0/24"}}).
		Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := middlewaretest.Request(t, "GET /")
	w := new(middlewaretest.Writer)
	if allocations := testing.AllocsPerRun(100, func() { handler.ServeHTTP(w, r) }); allocations != 0 || w.Status != 0 {
		t.Errorf("%v allocations, status %d", allocations, w.Status)
	}
}
