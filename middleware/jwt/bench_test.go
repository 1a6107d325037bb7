package jwt

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// nothing is a service that answers nothing.
func nothing() http.Handler { return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}) }

func benchmarked(b *testing.B) (j *JWT, tokens map[string]string) {
	ring := keys()
	set := jwksOf(b, member(b, "r", ring.rsa), member(b, "e", ring.p256), member(b, "d", ring.ed))
	claims := claimsWith(map[string]any{
		"groups": []string{"engineering", "design"}, "email": "jane.doe@example.com",
		"scope": "openid email groups",
	})
	return build(b, dynamic.JWT{Jwks: set, Issuers: []string{"https://issuer.example"}, Audiences: []string{"api"}}),
		map[string]string{
			"RS256": sign(b, jose.RS256, ring.rsa, claims, map[string]any{"kid": "r"}),
			"PS256": sign(b, jose.PS256, ring.rsa, claims, map[string]any{"kid": "r"}),
			"ES256": sign(b, jose.ES256, ring.p256, claims, map[string]any{"kid": "e"}),
			"EdDSA": sign(b, jose.EdDSA, ring.ed, claims, map[string]any{"kid": "d"}),
		}
}

// BenchmarkVerify is what a token costs that is not cached.
func BenchmarkVerify(b *testing.B) {
	j, tokens := benchmarked(b)
	for name, token := range tokens {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, refused := j.verify(b.Context(), j.keys.now(b.Context()), token); refused != nil {
					b.Fatal(refused.reason)
				}
			}
		})
	}
}

// BenchmarkCached is what a request costs whose token is cached, without and with headers to set.
func BenchmarkCached(b *testing.B) {
	j, tokens := benchmarked(b)
	for name, headers := range map[string]map[string]string{"alone": nil, "two headers": {
		"X-User":  "sub",
		"X-Email": "email",
	}} {
		b.Run(name, func(b *testing.B) {
			var err error
			if j.headers, err = newHeaders(headers, ""); err != nil {
				b.Fatal(err)
			}
			j.cache = newTokenCache()
			handler, r, w := j.Wrap(nothing()), middlewaretest.Request(b, "GET /", "Authorization: Bearer "+tokens["RS256"]),
				new(middlewaretest.Writer)
			r = r.WithContext(request(b, "").Context())
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
			if w.Status != 0 {
				b.Fatalf("answers %d", w.Status)
			}
		})
	}
}

// BenchmarkCachedParallel is the same from many sides, with many tokens.
func BenchmarkCachedParallel(b *testing.B) {
	j, _ := benchmarked(b)
	var all []string
	for i := range 1000 {
		all = append(all, "Bearer "+sign(b, jose.EdDSA, keys().ed, claimsWith(map[string]any{"jti": fmt.Sprint(i)}), nil))
	}
	handler := j.Wrap(nothing())
	for _, token := range all {
		if _, got := serve(j, request(b, token[len("Bearer "):])); got == nil {
			b.Fatal("it does not pass")
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		r, w := request(b, ""), new(middlewaretest.Writer)
		line := []string{""}
		r.Header["Authorization"] = line
		for i := 0; pb.Next(); i++ {
			line[0] = all[i%len(all)]
			handler.ServeHTTP(w, r)
		}
	})
}

// BenchmarkNoToken is what a request costs that is challenged.
func BenchmarkNoToken(b *testing.B) {
	j, _ := benchmarked(b)
	handler, r, w := j.Wrap(nothing()), request(b, ""), new(middlewaretest.Writer)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(w, r)
	}
}

// BenchmarkFindNothing is what looking into every place costs.
func BenchmarkFindNothing(b *testing.B) {
	p := tokenExtractors{header: authorization, cookie: "token", query: "access_token"}
	r := middlewaretest.Request(b, "GET /a?b=c&d=e", "Cookie: session=abc; theme=dark")
	b.ReportAllocs()
	for b.Loop() {
		if _, n := p.inHeader(r); n > 0 {
			b.Fatal("found")
		}
		if _, n := p.inCookie(r); n > 0 {
			b.Fatal("found")
		}
		if _, n := p.inQuery(r); n > 0 {
			b.Fatal("found")
		}
	}
}
