package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Injector counts what the admission webhook does. It is safe for concurrent use.
type Injector struct {
	reviews, skipped, refused *prometheus.CounterVec
	reloads, patches          *prometheus.CounterVec
	reloaded                  prometheus.Gauge
	dropped, repaired         prometheus.Counter
	seconds                   prometheus.Histogram
}

// Injector returns the counters of the injector, which are shown from then on. notAfter returns when the certificate
// and its authority end; it is called at each scrape, and a zero time is not shown. Injector may be called once.
func (m *Metrics) Injector(notAfter func() (leaf, authority time.Time)) *Injector {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	i := &Injector{
		reviews: counter("sluice_injector_reviews_total",
			"Reviews by result: injected, skipped, failed, or other for an object that is no new pod.", "result"),
		skipped: counter("sluice_injector_skipped_total", "Pods that were not injected, by reason.", "reason"),
		refused: counter("sluice_injector_refused_total",
			"Requests to the webhook that were answered with an HTTP error.", "code"),
		reloads: counter("sluice_injector_config_reloads_total",
			"Attempts to read the injector's configuration: success or failure.", "result"),
		patches: counter("sluice_injector_webhook_patches_total",
			"Writes to the MutatingWebhookConfiguration: success or failure.", "result"),
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_injector_config_last_reload_success",
			Help: "Whether the last attempt to read the injector's configuration has succeeded: 1 or 0.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_injector_events_dropped_total",
			Help: "Events about injection that were not recorded because there were too many.",
		}),
		repaired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_injector_authority_repairs_total",
			Help: "Times that the Secret of the authority was deleted or damaged and has been repaired.",
		}),
		seconds: prometheus.NewHistogram(durations("sluice_injector_review_seconds", "Duration of a review.")),
	}
	m.Register(i.reviews, i.skipped, i.refused, i.reloads, i.patches, i.reloaded, i.dropped, i.repaired, i.seconds,
		gauges{
			desc: prometheus.NewDesc("sluice_injector_certificate_not_after",
				"Unix time in seconds at which the certificate of the webhook ends (leaf), and its authority (authority).",
				[]string{"certificate"}, nil),
			read: func(set func(value float64, labels ...string)) {
				leaf, authority := notAfter()
				if !leaf.IsZero() {
					set(float64(leaf.Unix()), "leaf")
				}
				if !authority.IsZero() {
					set(float64(authority.Unix()), "authority")
				}
			},
		})
	return i
}

// Reviewed counts a review and its duration.
func (i *Injector) Reviewed(result string, took time.Duration) {
	i.reviews.WithLabelValues(result).Inc()
	i.seconds.Observe(took.Seconds())
}

// Skipped counts a pod that was not injected. The reason is one of a fixed set.
func (i *Injector) Skipped(reason string) { i.skipped.WithLabelValues(text(reason)).Inc() }

// Refused counts a request that was answered with an HTTP error.
func (i *Injector) Refused(status int) { i.refused.WithLabelValues(strconv.Itoa(status)).Inc() }

// Reloaded counts an attempt to read the configuration.
func (i *Injector) Reloaded(ok bool) {
	i.reloads.WithLabelValues(result(ok)).Inc()
	i.reloaded.Set(0)
	if ok {
		i.reloaded.Set(1)
	}
}

// Patched counts a write to the MutatingWebhookConfiguration.
func (i *Injector) Patched(ok bool) { i.patches.WithLabelValues(result(ok)).Inc() }

// DropEvent counts an Event that was not recorded.
func (i *Injector) DropEvent() { i.dropped.Inc() }

// Repaired counts a Secret that was deleted or damaged.
func (i *Injector) Repaired() { i.repaired.Inc() }

func result(ok bool) string {
	if ok {
		return "success"
	}
	return "failure"
}
