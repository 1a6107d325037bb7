package telemetry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler answers with the metrics page: text, or protobuf with native histograms for a client that accepts it.
// Metrics that cannot be gathered are left out, and the others are shown.
func (m *Metrics) Handler() http.Handler {
	page := promhttp.HandlerFor(m.gatherer, promhttp.HandlerOpts{
		Registry: m.registry, ErrorHandling: promhttp.ContinueOnError,
		OfferedCompressions: []promhttp.Compression{promhttp.Identity, promhttp.Gzip},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		written := &pageWriter{ResponseWriter: w, head: r.Method == http.MethodHead}
		page.ServeHTTP(written, r)
		if !written.head && !written.failed {
			m.page.confirm()
		}
	})
}

// Gatherer gathers everything that the metrics page shows.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.gatherer }

// pageWriter notes whether a page reaches the client.
type pageWriter struct {
	http.ResponseWriter

	head, failed bool
}

// WriteHeader sends the header.
func (w *pageWriter) WriteHeader(status int) {
	w.failed = w.failed || status != http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the page; a response to HEAD has none.
func (w *pageWriter) Write(b []byte) (int, error) {
	if w.head {
		return len(b), nil
	}
	n, err := w.ResponseWriter.Write(b)
	w.failed = w.failed || err != nil
	return n, err //nolint:wrapcheck // The handler gets the writer's own errors.
}
