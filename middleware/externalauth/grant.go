package externalauth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/response"
)

// grant is what a request that may pass goes on with.
type grant struct {
	// strip are names of headers that are never taken from the client.
	strip []string
	edits []edit
	// remove are names of headers that are removed from the request, also those of edits.
	remove []string
	// responseEdits change the head of the response of the service behind.
	responseEdits []edit
	// setQuery and removeQuery are parameters of the query.
	setQuery    []parameter
	removeQuery []string
}

// parameter is one of a query, not escaped.
type parameter struct{ key, value string }

// action says what becomes of values that a header has.
type action int

const (
	overwrite action = iota
	overwriteIfPresent
	add
	addIfAbsent
)

// edit changes one header, whose name is in net/http's canonical spelling.
type edit struct {
	name   string
	values []string
	action action
}

// apply changes headers.
func (e *edit) apply(h http.Header) {
	present := len(h[e.name]) > 0
	switch {
	case e.action == overwriteIfPresent && !present, e.action == addIfAbsent && present:
	case e.action == add && present:
		h[e.name] = append(slices.Clip(h[e.name]), e.values...)
	default:
		h[e.name] = slices.Clone(e.values)
	}
}

// serve calls next with the request as it is granted.
func (g *grant) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	g.applyHeaders(r)
	if len(g.setQuery)+len(g.removeQuery) > 0 {
		r.URL.RawQuery = g.query(r.URL.RawQuery)
	}
	if len(g.responseEdits) == 0 {
		next.ServeHTTP(w, r)
		return
	}
	writer := &responseWriter{edits: g.responseEdits}
	writer.ResponseWriter, writer.Editor = w, writer
	next.ServeHTTP(writer, r)
	writer.Begin(http.StatusOK)
}

// applyHeaders removes headers in any spelling, and sets those of the answer. Trailers have none of them.
func (g *grant) applyHeaders(r *http.Request) {
	if len(g.strip) > 0 {
		forwarded.RemoveHeader(r.Header, g.strip...)
	}
	names := slices.Concat(g.strip, g.remove)
	for i := range g.edits {
		e := &g.edits[i]
		names = append(names, e.name)
		if e.action == overwrite || e.action == overwriteIfPresent && len(r.Header[e.name]) > 0 {
			forwarded.RemoveHeader(r.Header, e.name)
			r.Header[e.name] = slices.Clone(e.values)
			continue
		}
		e.apply(r.Header)
	}
	if len(g.remove) > 0 {
		forwarded.RemoveHeader(r.Header, g.remove...)
	}
	if len(names) > 0 && forwarded.MayHaveTrailers(r) {
		forwarded.RemoveTrailers(r, names...)
	}
}

// query returns a query without the removed parameters, and with those that are set at its end.
func (g *grant) query(raw string) string {
	var kept []string
	for pair := range strings.SplitSeq(raw, "&") {
		key, _, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(key); pair == "" || err == nil && g.changes(name) {
			continue
		}
		kept = append(kept, pair)
	}
	for _, p := range g.setQuery {
		kept = append(kept, url.QueryEscape(p.key)+"="+url.QueryEscape(p.value))
	}
	return strings.Join(kept, "&")
}

// changes reports whether parameters of a name are removed or replaced.
func (g *grant) changes(name string) bool {
	return slices.Contains(g.removeQuery, name) ||
		slices.ContainsFunc(g.setQuery, func(p parameter) bool { return p.key == name })
}

// responseWriter changes the head of a response.
type responseWriter struct {
	response.Writer
	edits []edit
}

// EditHead applies the edits.
func (w *responseWriter) EditHead(header http.Header, _ int) {
	for i := range w.edits {
		w.edits[i].apply(header)
	}
}
