package forwardauth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/middleware/response"
)

const setCookie = "Set-Cookie"

// cookies are the names of those that the authentication server sets on the service's response: the option
// addAuthCookiesToResponse.
type cookies []string

// serve calls next, and sets the cookies of the answer that let the request pass.
func (c cookies) serve(w http.ResponseWriter, r *http.Request, next http.Handler, granted http.Header) {
	lines := granted[setCookie]
	if len(c) == 0 || len(lines) == 0 {
		next.ServeHTTP(w, r)
		return
	}
	writer := &responseWriter{names: c, lines: lines}
	writer.ResponseWriter, writer.Editor = w, writer
	next.ServeHTTP(writer, r)
	writer.Begin(http.StatusOK)
}

// responseWriter adds cookies to a response.
type responseWriter struct {
	response.Writer
	names cookies
	// lines are the authentication server's, those with other names among them.
	lines []string
}

// EditHead puts the listed cookies of the authentication server in the place of the service's.
func (w *responseWriter) EditHead(header http.Header, _ int) {
	kept := slices.DeleteFunc(slices.Clone(header[setCookie]), w.names.list)
	for _, line := range w.lines {
		if w.names.list(line) {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		delete(header, setCookie)
		return
	}
	header[setCookie] = kept
}

// list reports whether the cookie that a line sets is among the names (RFC 6265 section 5.2).
func (c cookies) list(line string) bool {
	pair, _, _ := strings.Cut(line, ";")
	name, _, _ := strings.Cut(pair, "=")
	return slices.Contains(c, strings.TrimSpace(name))
}
