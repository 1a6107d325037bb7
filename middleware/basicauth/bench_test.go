package basicauth

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// BenchmarkBasicAuth measures correct credentials of each kind, uncached and cached, and wrong ones of existing and
// unknown users, which must take the same time.
func BenchmarkBasicAuth(b *testing.B) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for _, bench := range []struct {
		name, user, header string
		forget             bool
	}{
		{"bcrypt 10, verified", bcryptUser(b, "ann", 10), basic("ann", "secret"), true},
		{"bcrypt 10, cached", bcryptUser(b, "ann", 10), basic("ann", "secret"), false},
		{"bcrypt 10, known user, wrong password", bcryptUser(b, "ann", 10), basic("ann", "wrong"), false},
		{"bcrypt 10, unknown user", bcryptUser(b, "ann", 10), basic("bob", "wrong"), false},
		{"MD5, verified", apr1User, basic("apr1", "secret"), true},
		{"MD5, cached", apr1User, basic("apr1", "secret"), false},
		{"MD5, known user, wrong password", apr1User, basic("apr1", "wrong"), false},
		{"MD5, unknown user", apr1User, basic("bob", "wrong"), false},
		{"SHA-1", shaUser, basic("sha", "secret"), false},
	} {
		b.Run(bench.name, func(b *testing.B) {
			step := build(b, dynamic.BasicAuth{Users: []string{bench.user}})
			handler := step.Wrap(next)
			r := middlewaretest.Request(b, "GET /", bench.header)
			w := new(middlewaretest.Writer)
			handler.ServeHTTP(w, r)
			b.ReportAllocs()
			for b.Loop() {
				if bench.forget {
					for _, user := range step.store.users {
						user.proof.Store(nil)
					}
				}
				handler.ServeHTTP(w, r)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
