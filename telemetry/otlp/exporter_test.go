package otlp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collogspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

// sender sends one thing of a signal and closes the exporter.
type sender func(ctx context.Context, grpc *static.OTLPGRPC, http *static.OTLPHTTP) error

// senders has one for each signal.
func senders() map[string]sender {
	return map[string]sender{"traces": sendSpan, "metrics": sendMetric, "logs": sendLine}
}

func sendSpan(ctx context.Context, grpc *static.OTLPGRPC, http *static.OTLPHTTP) error {
	exporter, err := otlp.Spans(ctx, grpc, http)
	if err != nil {
		return err
	}
	defer exporter.Shutdown(context.WithoutCancel(ctx)) //nolint:errcheck // The batch is what counts.
	return exporter.ExportSpans(ctx, tracetest.SpanStubs{{Name: "sent"}}.Snapshots())
}

func sendMetric(ctx context.Context, grpc *static.OTLPGRPC, http *static.OTLPHTTP) error {
	exporter, err := otlp.Metrics(ctx, grpc, http)
	if err != nil {
		return err
	}
	defer exporter.Shutdown(context.WithoutCancel(ctx)) //nolint:errcheck // The batch is what counts.
	points := metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Time: time.Unix(1, 0), Value: 1}}}
	return exporter.Export(ctx, &metricdata.ResourceMetrics{
		Resource:     resource.Empty(),
		ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{Name: "sent", Data: points}}}},
	})
}

func sendLine(ctx context.Context, grpc *static.OTLPGRPC, http *static.OTLPHTTP) error {
	exporter, err := otlp.Logs(ctx, grpc, http)
	if err != nil {
		return err
	}
	defer exporter.Shutdown(context.WithoutCancel(ctx)) //nolint:errcheck // The batch is what counts.
	var line sdklog.Record
	line.SetBody(attribute.StringValue("sent"))
	return exporter.Export(ctx, []sdklog.Record{line})
}

// name returns what the arrived batch calls its one thing.
func name(a arrival) string {
	switch message := a.message.(type) {
	case *coltracepb.ExportTraceServiceRequest:
		return message.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName()
	case *colmetricspb.ExportMetricsServiceRequest:
		return message.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()[0].GetName()
	case *collogspb.ExportLogsServiceRequest:
		return message.GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords()[0].GetBody().GetStringValue()
	}
	return ""
}

func TestExportersReachTheCollector(t *testing.T) {
	pair, certPEM, keyPEM := certificate(t)
	trusting := &static.ClientTLS{CA: certPEM}
	mutual := &static.ClientTLS{CA: certPEM, Cert: certPEM, Key: keyPEM}
	tests := map[string]struct {
		grpc         func(c *collector) *static.OTLPGRPC
		http         func(c *collector) *static.OTLPHTTP
		path         string
		authenticate string
		client       bool
	}{
		"grpc": {grpc: func(c *collector) *static.OTLPGRPC { return grpcOptions(c.byGRPC(t), true, nil) }},
		"grpc with tls": {grpc: func(c *collector) *static.OTLPGRPC {
			return grpcOptions(c.byGRPC(t, secured(pair)), false, trusting)
		}},
		"grpc with a certificate": {client: true, grpc: func(c *collector) *static.OTLPGRPC {
			return grpcOptions(c.byGRPC(t, secured(pair)), false, mutual)
		}},
		"grpc goes before http": {
			grpc: func(c *collector) *static.OTLPGRPC { return grpcOptions(c.byGRPC(t), true, nil) },
			http: func(*collector) *static.OTLPHTTP { return httpOptions("http://127.0.0.1:1", nil) },
		},
		"http": {path: "/v1/", http: func(c *collector) *static.OTLPHTTP { return httpOptions(c.byHTTP(t, false).URL, nil) }},
		"http with tls": {path: "/v1/", http: func(c *collector) *static.OTLPHTTP {
			return httpOptions(c.byHTTP(t, true).URL+"/", trusting)
		}},
		"http with a certificate": {path: "/v1/", client: true, http: func(c *collector) *static.OTLPHTTP {
			return httpOptions(c.byHTTP(t, true).URL, mutual)
		}},
		"http with tls that is not verified": {path: "/v1/", http: func(c *collector) *static.OTLPHTTP {
			return httpOptions(c.byHTTP(t, true).URL, &static.ClientTLS{InsecureSkipVerify: true})
		}},
		"http with a user": {
			path: "/v1/", authenticate: "Basic dXNlcjpwYXNzd29yZA==",
			http: func(c *collector) *static.OTLPHTTP {
				return httpOptions(strings.Replace(c.byHTTP(t, false).URL, "://", "://user:password@", 1), nil)
			},
		},
	}
	for title, test := range tests {
		for signal, send := range senders() {
			t.Run(title+"/"+signal, func(t *testing.T) {
				c := newCollector()
				var grpc *static.OTLPGRPC
				var http *static.OTLPHTTP
				if test.grpc != nil {
					grpc = test.grpc(c)
				}
				if test.http != nil {
					http = test.http(c)
				}
				if err := send(t.Context(), grpc, http); err != nil {
					t.Fatal(err)
				}
				got := <-c.arrivals
				if name(got) != "sent" || got.header("x-api-key") != secret || got.header("authorization") != test.authenticate {
					t.Errorf("received %q with key %q and authorization %q", name(got), got.header("x-api-key"),
						got.header("authorization"))
				}
				if got.client != test.client {
					t.Errorf("a certificate was presented: %t", got.client)
				}
				if test.path != "" && got.path != test.path+signal {
					t.Errorf("received on %s", got.path)
				}
			})
		}
	}
}

func TestShutdownClosesTheConnection(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // Less than an unused connection is kept.
	defer cancel()
	for signal, send := range senders() {
		c := newCollector()
		if err := send(ctx, nil, httpOptions(c.byHTTP(t, false).URL, nil)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-c.closed:
		case <-ctx.Done():
			t.Errorf("%s: the connection stays open", signal)
		}
	}
}

func TestAPathOfTheEndpointIsKept(t *testing.T) {
	for signal, send := range senders() {
		c := newCollector()
		if err := send(t.Context(), nil, httpOptions(c.byHTTP(t, false).URL+"/own/"+signal, nil)); err != nil {
			t.Fatal(err)
		}
		if got := <-c.arrivals; got.path != "/own/"+signal {
			t.Errorf("%s: received on %s", signal, got.path)
		}
	}
}

// The environment of a machine must not turn encryption off for what the options name.
func TestTheEnvironmentDoesNotWeakenTLS(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_INSECURE", "true")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=other")
	pair, certPEM, _ := certificate(t)
	for signal, send := range senders() {
		c := newCollector()
		if err := send(t.Context(), grpcOptions(c.byGRPC(t, secured(pair)), false, &static.ClientTLS{CA: certPEM}),
			nil); err != nil {
			t.Errorf("%s by grpc: %v", signal, err)
			continue
		}
		if got := <-c.arrivals; got.header("x-api-key") != secret {
			t.Errorf("%s by grpc: key %q", signal, got.header("x-api-key"))
		}
		if err := send(t.Context(), nil, httpOptions(c.byHTTP(t, true).URL, &static.ClientTLS{CA: certPEM})); err != nil {
			t.Errorf("%s by http: %v", signal, err)
			continue
		}
		if got := <-c.arrivals; got.header("x-api-key") != secret {
			t.Errorf("%s by http: key %q", signal, got.header("x-api-key"))
		}
	}
}

func TestNothingIsSentToAnUnknownCollector(t *testing.T) {
	for signal, send := range senders() {
		c := newCollector()
		err := send(t.Context(), nil, httpOptions(c.byHTTP(t, true).URL, nil))
		if err == nil || !strings.Contains(err.Error(), "certificate") || len(c.arrivals) > 0 {
			t.Errorf("%s: an unknown certificate gave the error %v", signal, err)
		}
	}
}

func TestARefusalIsAnErrorWithoutSecrets(t *testing.T) {
	for signal, send := range senders() {
		c := newCollector()
		c.answer = func(a arrival) (int, string) {
			return http.StatusUnauthorized, "unknown key " + a.header("x-api-key") + "\n" + strings.Repeat("x", 5000)
		}
		for way, err := range map[string]error{
			"grpc": send(t.Context(), grpcOptions(c.byGRPC(t), true, nil), nil),
			"http": send(t.Context(), nil, httpOptions(c.byHTTP(t, false).URL, nil)),
		} {
			if err == nil {
				t.Errorf("%s by %s: no error", signal, way)
				continue
			}
			text := err.Error()
			if strings.Contains(text, secret) || strings.Contains(text, "\n") || len(text) > 400 ||
				!strings.Contains(text, "unknown key xxxx") {
				t.Errorf("%s by %s: %s", signal, way, text)
			}
			if !strings.HasPrefix(text, "send "+signal+" to the collector: ") {
				t.Errorf("%s by %s: %s", signal, way, text)
			}
		}
	}
}

// A collector may repeat a secret otherwise than the options have it: without the space around it, without the
// scheme, decoded.
func TestARefusalRepeatsNoPartOfASecret(t *testing.T) {
	const text = "who is user with password, key planted-short, planted-short-and-long?"
	c := newCollector()
	c.answer = func(a arrival) (int, string) {
		if a.header("x-space") != "planted-space" || a.header("authorization") == "" {
			return http.StatusBadRequest, "no secrets came"
		}
		return http.StatusUnauthorized, text + " " + a.header("x-space") + " and " + strings.TrimPrefix(a.header("x-token"),
			"Bearer ")
	}
	options := httpOptions(strings.Replace(c.byHTTP(t, false).URL, "://", "://user:password@", 1), nil)
	options.Headers = map[string]string{
		"x-space": " planted-space ", "X-Token": "Bearer planted-bearer", "X-Short": "planted-short",
		"X-Long": "planted-short-and-long", "X-Tenant": "key",
	}
	for signal, send := range senders() {
		err := send(t.Context(), nil, options)
		const want = "who is user with xxxx, key xxxx, xxxx? xxxx and xxxx"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", signal, err, want)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	asked := make(chan string, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request,
	) {
		asked <- r.Header.Get("X-Api-Key")
	}))
	defer elsewhere.Close()
	for signal, send := range senders() {
		c := newCollector()
		c.answer = func(arrival) (int, string) { return http.StatusTemporaryRedirect, elsewhere.URL }
		if err := send(t.Context(), nil, httpOptions(c.byHTTP(t, false).URL, nil)); err == nil {
			t.Errorf("%s: a redirect is no error", signal)
		}
		if len(asked) > 0 {
			t.Errorf("%s: the redirect was followed with the key %q", signal, <-asked)
		}
	}
}
