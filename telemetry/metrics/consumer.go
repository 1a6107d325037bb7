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
		page.ServeHTTP(w, r)
	})
}
