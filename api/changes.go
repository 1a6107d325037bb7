package api

import (
	"mime"
	"net/http"

	"github.com/sluiceproxy/sluice/telemetry"
)

// MaxChange is the most bytes that the body of a request to change something may have.
const MaxChange = 64 << 10

// ProtectChanges is Protect for a handler of requests that change something. It refuses the requests of web pages with
// 403, also of the page's own origin: a host name that resolves to a loopback address (DNS rebinding) gives a page the
// origin of an entrypoint. Browsers send no Origin with GET, so that requests to a loopback address without TLS are
// refused that name a host which a page could have, unless the rule of the router names it or the user is
// authenticated. Methods other than GET and HEAD must have a body of the type application/json (415), of which reads
// beyond MaxChange bytes fail with [http.MaxBytesError].
func ProtectChanges(logger telemetry.Logger, next http.Handler) http.Handler {
	write := Writer(logger)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setPolicies(w.Header())
		if ofPage(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if refusesHost(r) {
			write(w, http.StatusForbidden, Problem{Message: foreignHost})
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
				write(w, http.StatusUnsupportedMediaType, Problem{Message: "the Content-Type is not application/json"})
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, MaxChange)
		}
		next.ServeHTTP(w, r)
	})
}

// ofPage reports whether a web page sent the request. Browsers send Origin with all methods but GET and HEAD, and
// Sec-Fetch-Site over TLS and to loopback addresses; its value is none for what the user types.
func ofPage(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "none" {
			return true
		}
	}
	return len(r.Header.Values("Origin")) > 0
}
