package forwardauth

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// BenchmarkAsk measures one request that passes, beside the same authentication request by a bare transport.
func BenchmarkAsk(b *testing.B) {
	address := serve(b, func(w http.ResponseWriter, _ *http.Request) { w.Header()["Remote-User"] = []string{"alice"} })
	browser := []string{
		"User-Agent: Mozilla/5.0", "Accept: text/html", "Accept-Language: en", "Cookie: session=1",
		"Accept-Encoding: gzip", "Referer: https://example.com/",
	}
	step := build(b, dynamic.ForwardAuth{Address: address, AuthResponseHeaders: []string{"Remote-User"}})
	b.Run("forwardAuth", func(b *testing.B) {
		handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		r, w := middlewaretest.Request(b, "GET /", browser...), new(middlewaretest.Writer)
		r = r.WithContext(telemetry.WithRecord(r.Context(), &telemetry.Record{Client: "192.0.2.1"}))
		b.ReportAllocs()
		for b.Loop() {
			handler.ServeHTTP(w, r)
		}
		if step.Counts()["failed"] > 0 {
			b.Fatal("the server does not answer")
		}
	})
	b.Run("bare", func(b *testing.B) {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			b.Fatal(err)
		}
		r.Header = middlewaretest.Request(b, "GET /", browser...).Header
		b.ReportAllocs()
		for b.Loop() {
			answer, err := step.server.Send(r)
			if err != nil {
				b.Fatal(err)
			}
			_ = answer.Body.Close()
		}
	})
	b.Run("authentication request", func(b *testing.B) {
		r := middlewaretest.Request(b, "GET /", browser...)
		b.ReportAllocs()
		for b.Loop() {
			step.settings.authRequest(r, nil)
		}
	})
	b.Run("identity", func(b *testing.B) {
		granted := http.Header{"Remote-User": {"alice"}}
		r := middlewaretest.Request(b, "GET /", browser...)
		b.ReportAllocs()
		for b.Loop() {
			step.settings.identity.apply(r, granted)
		}
	})
}
