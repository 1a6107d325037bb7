package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Protect answers those who may read alone: whoever asks with GET or HEAD, and from no page of another origin. What
// such a page asks gets 403 without a word; a browser that has no such page in it says so by what it sends (Fetch
// Metadata, RFC 6454), and other clients send nothing of the kind. New protects what it returns; this is for a part
// that is a service of its own beside it. The base path is the option api.basePath.
func Protect(basePath string, logger telemetry.Logger, next http.Handler) http.Handler {
	return protect(strings.TrimRight(basePath, "/"), Writer(logger), next)
}

func protect(prefix string, write func(http.ResponseWriter, int, any), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		if foreign(r) && !visits(prefix, r) {
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

func refuseMethod(w http.ResponseWriter, write func(http.ResponseWriter, int, any)) {
	w.Header().Set("Allow", "GET, HEAD")
	write(w, http.StatusMethodNotAllowed, Problem{Message: "the API is read-only"})
}

// foreign tells whether a page of another origin asks. An origin differs from another port and another scheme on, but
// the scheme that the browser sees is not known here: a proxy may have ended its TLS.
func foreign(r *http.Request) bool {
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

// visits tells whether somebody follows a link to the dashboard: the page shows itself, and nothing of it can be read
// by whoever has the link.
func visits(prefix string, r *http.Request) bool {
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
