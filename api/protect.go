package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Protect restricts a handler to GET and HEAD, and refuses requests of pages of other origins with 403. Browsers mark
// these with Fetch Metadata or Origin (RFC 6454). New applies it to what it returns; Protect is for a part that is
// served beside it. basePath is the option api.basePath.
func Protect(basePath string, logger telemetry.Logger, next http.Handler) http.Handler {
	return protect(strings.TrimRight(basePath, "/"), Writer(logger), next)
}

func protect(prefix string, write func(http.ResponseWriter, int, any), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setPolicies(w.Header())
		if crossOrigin(r) && !isNavigation(prefix, r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			refuseMethod(w, write)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// setPolicies sets what browsers must not do with a response.
func setPolicies(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
}

func refuseMethod(w http.ResponseWriter, write func(http.ResponseWriter, int, any)) {
	w.Header().Set("Allow", "GET, HEAD")
	write(w, http.StatusMethodNotAllowed, Problem{Message: "the API is read-only"})
}

// crossOrigin reports whether a page of another origin sent the request. The scheme is not compared: a proxy in front
// may have terminated TLS.
func crossOrigin(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return true
		}
	}
	for _, text := range r.Header.Values("Origin") {
		origin, err := url.Parse(text)
		if err != nil || origin.Host == "" || !strings.EqualFold(origin.Host, r.Host) {
			return true
		}
	}
	return false
}

// isNavigation reports whether the request follows a link to the dashboard. Navigation does not expose the content to
// the linking page.
func isNavigation(prefix string, r *http.Request) bool {
	if r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" ||
		r.Header.Get("Sec-Fetch-Dest") != "document" ||
		len(r.Header.Values("Origin")) > 0 {
		return false
	}
	switch r.URL.Path {
	case prefix + "/", prefix + "/dashboard", prefix + "/dashboard/":
		return true
	}
	return false
}
