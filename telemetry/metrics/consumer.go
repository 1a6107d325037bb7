package metrics

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// consumer is the metrics page, or what is pushed: a registry that it shares, and the metrics of requests as it shows
// them.
type consumer struct {
	requests    *requestCollector
	shared, own *prometheus.Registry
}

func newConsumer(shared *prometheus.Registry, set *SeriesSet, view View, native bool) *consumer {
	c := &consumer{requests: newRequestCollector(set, view, native), shared: shared, own: prometheus.NewRegistry()}
	c.own.MustRegister(c.requests)
	return c
}

// Gather returns all families by name. An error comes with the families that could be gathered.
func (c *consumer) Gather() ([]*dto.MetricFamily, error) {
	families, err := c.shared.Gather()
	more, failed := c.own.Gather()
	families = append(families, more...)
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families, cmp.Or(err, failed)
}

// handler answers with a page of all families.
func (c *consumer) handler() http.Handler {
	page := promhttp.HandlerFor(c, promhttp.HandlerOpts{
		Registry: c.shared, ErrorHandling: promhttp.ContinueOnError,
		OfferedCompressions: []promhttp.Compression{promhttp.Identity, promhttp.Gzip},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		written := &pageWriter{ResponseWriter: w, head: r.Method == http.MethodHead}
		page.ServeHTTP(written, r)
		if !written.head && !written.failed {
			c.requests.reader.confirm()
		}
	})
}

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
