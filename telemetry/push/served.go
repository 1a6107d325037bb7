package push

import (
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sluiceproxy/sluice/telemetry"
)

// other stands for methods and errors that have no name of their own.
const other = "_OTHER"

// served returns http.server.request.duration of OpenTelemetry's semantic conventions for HTTP metrics, if there were any requests.
func served(from *telemetry.Pushed, began, now time.Time) []metricdata.Metrics {
	all := durations{bounds: from.Bounds(), began: began, now: now}
	from.Served(func(served telemetry.Served, read *telemetry.Durations) { all.add(described(served), read) })
	data := all.data()
	if data == nil {
		return nil
	}
	return []metricdata.Metrics{{Name: "http.server.request.duration", Description: "Duration of HTTP server requests.", Unit: "s", Data: data}}
}

// described returns the attributes of requests. The host that they ask for is none: clients could make as many as they like. Traefik's
// network.protocol.name has the version in it, which the conventions have apart.
func described(served telemetry.Served) attribute.Set {
	method := served.Method
	if method == "" {
		method = other
	}
	out := []attribute.KeyValue{
		attribute.String("http.request.method", method), attribute.String("network.protocol.name", "http"), attribute.String("url.scheme", served.Scheme),
	}
	if served.Version != "" {
		out = append(out, attribute.String("network.protocol.version", served.Version))
	}
	if served.Status > 0 {
		out = append(out, attribute.Int("http.response.status_code", served.Status))
	}
	switch {
	case served.Status == 0:
		out = append(out, attribute.String("error.type", other))
	case served.Status >= http.StatusInternalServerError:
		out = append(out, attribute.String("error.type", strconv.Itoa(served.Status)))
	}
	return attribute.NewSet(out...)
}
