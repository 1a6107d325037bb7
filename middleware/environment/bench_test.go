package environment_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// browser is a request without a choice.
func browser(t testing.TB) *http.Request {
	t.Helper()
	return middlewaretest.Request(t, "GET /a/b?x=1&y=2", "User-Agent: Mozilla/5.0", "Accept: */*",
		"Cookie: session=1; theme=dark", "Accept-Encoding: gzip", "Accept-Language: en")
}

// BenchmarkEnvironment is what requests cost, with all sources.
func BenchmarkEnvironment(b *testing.B) {
	trust := signedOnly()
	trust.SourceRange = []string{"10.0.0.0/8", "198.51.100.0/24"}
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, headers := range map[string][]string{
		"idle": nil, "removed": {header + ": dev"},
		"signed": {header + ": " + sign(b, secret, header, "dev", time.Now().Add(time.Hour))},
	} {
		b.Run(name, func(b *testing.B) {
			handler := build(b, trusting(trust)).Wrap(next)
			r, w := browser(b), new(middlewaretest.Writer)
			given := middlewaretest.Request(b, "GET /", headers...).Header[header]
			b.ReportAllocs()
			for b.Loop() {
				if given != nil {
					r.Header[header] = given
				}
				clear(w.Header())
				handler.ServeHTTP(w, r)
			}
		})
	}
}

func TestNoChoiceDoesNotAllocate(t *testing.T) {
	for name, trust := range map[string]dynamic.EnvironmentTrust{
		"nobody": nobody(), "anyone": anyone(), "signed": signedOnly(), "addresses": {SourceRange: []string{"10.0.0.0/8"}},
	} {
		handler := build(t, trusting(trust)).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		r, w := browser(t), new(middlewaretest.Writer)
		if allocations := testing.AllocsPerRun(100, func() { handler.ServeHTTP(w, r) }); allocations != 0 || w.Status != 0 {
			t.Errorf("%s: %v allocations, status %d", name, allocations, w.Status)
		}
	}
}
