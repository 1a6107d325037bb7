package cors_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/cors"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// FuzzOrigin checks that an origin which is allowed is repeated as it was sent, is nothing but a scheme and an
// authority, and has a host that the configured one covers.
func FuzzOrigin(f *testing.F) {
	for _, pattern := range []string{"*", "https://*", "http://*.example.com", "https://a.example:8443", "https://[::1]"} {
		for _, origin := range []string{
			"https://a.example", "http://b.example.com", "null", "https://a.example:8443/", "https://u@a.example:8443",
			"http://example.com.evil.org", "https://[::1]:443", "http://b.example.com\r\nx: y", "HTTP://B.EXAMPLE.COM:80",
		} {
			f.Add(pattern, origin)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, origin string) {
		step, err := cors.New("c@file", dynamic.CORS{
			AllowOrigins: []string{pattern}, AllowCredentials: true, MaxAge: 5,
		})
		if err != nil {
			return
		}
		r := middlewaretest.Request(t, "GET /")
		r.Header["Origin"] = []string{origin}
		w := new(middlewaretest.Writer)
		step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
		})).ServeHTTP(w, r)
		allowed := w.Header().Get("Access-Control-Allow-Origin")
		if allowed == "" {
			return
		}
		scheme, authority, found := strings.Cut(origin, "://")
		if allowed != origin || !found || strings.ContainsAny(authority, "/?#@\\, \t\r\n\x00") {
			t.Fatalf("%q allows %q as %q", pattern, origin, allowed)
		}
		if pattern == "*" {
			return
		}
		wantScheme, wantAuthority, _ := strings.Cut(pattern, "://")
		rest, wildcard := strings.CutPrefix(wantAuthority, "*")
		host, ok := canonical.Host(authority)
		if !ok || !strings.EqualFold(scheme, wantScheme) {
			t.Fatalf("%q allows %q", pattern, origin)
		}
		if !wildcard {
			if wanted, _ := canonical.Host(wantAuthority); wanted != host {
				t.Fatalf("%q allows %q", pattern, origin)
			}
			return
		}
		wanted, _ := canonical.Host("x" + rest)
		if below, under := strings.CutSuffix(host, wanted[1:]); !under || below == "" {
			t.Fatalf("%q allows %q", pattern, origin)
		}
	})
}
