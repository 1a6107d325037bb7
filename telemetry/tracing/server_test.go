package tracing

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/telemetry"
)

func TestTheSpanOfARequest(t *testing.T) {
	config := defaults()
	config.SafeQueryParams = []string{"item"}
	config.CapturedRequestHeaders = []string{"x-tenant", "X-Tenant", "User-Agent", "X-Absent"}
	config.CapturedResponseHeaders = []string{"X-Cache"}
	spans := traced(t, config, func(tracer *Tracer) {
		record, r := begun(http.Header{
			"User-Agent": {"curl/8"}, "X-Tenant": {"a", "b"}, "X-Forwarded-Proto": {"https"},
			"Authorization": {"Bearer planted"},
		})
		record.TLS = &tls.ConnectionState{}
		tracer.Begin(record, r)
		if !record.Observe.Has(telemetry.ObserveHeaders) {
			t.Error("the headers of the response are not kept")
		}
		r.Header.Set("X-Tenant", "changed by a middleware")
		record.Service, record.Status, record.BytesReceived, record.BytesSent = "shop@file", 200, 5, 1234
		record.ResponseHeader = http.Header{"X-Cache": {"hit"}, "Set-Cookie": {"planted"}}
		record.Duration = 1500 * time.Millisecond
		tracer.Finished(record)
	})
	if len(spans) != 1 {
		t.Fatalf("%d spans", len(spans))
	}
	want := map[string]any{
		"client.address": "192.0.2.7", "client.port": int64(40123), "entry_point": "websecure",
		"http.request.body.size": int64(5), "http.request.header.x-tenant": []string{"a", "b"}, "http.request.method": "GET",
		"http.response.body.size": int64(1234), "http.response.header.x-cache": []string{"hit"},
		"http.response.status_code": int64(200),
		"network.peer.address":      "192.0.2.7", "network.peer.port": int64(40123), "network.protocol.version": "2",
		"server.address": "shop.example", "server.port": int64(8443), "sluice.generation": int64(3),
		"traefik.router.name": "shop@file", "traefik.service.name": "shop@file",
		"url.path": "/cart/caf%C3%A9", "url.query": "item=7&token=REDACTED", "url.scheme": "https",
		"user_agent.original": "curl/8",
	}
	span := spans[0]
	if diff := cmp.Diff(want, attributes(span)); diff != "" {
		t.Error(diff)
	}
	record, _ := begun(nil)
	if span.Name != "GET" || span.SpanKind != trace.SpanKindServer || span.Status.Code != codes.Unset ||
		!span.StartTime.Equal(record.Start) || span.EndTime.Sub(span.StartTime) != 1500*time.Millisecond {
		t.Errorf("span %q of kind %v, status %v, from %v to %v", span.Name, span.SpanKind, span.Status, span.StartTime,
			span.EndTime)
	}
}

func TestTheRequestedNames(t *testing.T) {
	tests := map[string]struct {
		change func(*telemetry.Record, http.Header)
		want   map[string]any
	}{
		"plain": {func(*telemetry.Record, http.Header) {}, map[string]any{"url.scheme": "http"}},
		"encrypted": {
			func(r *telemetry.Record, _ http.Header) { r.TLS = &tls.ConnectionState{} },
			map[string]any{"url.scheme": "https"},
		},
		"encrypted before us": {
			func(_ *telemetry.Record, header http.Header) { header.Set("X-Forwarded-Proto", "https") },
			map[string]any{"url.scheme": "https"},
		},
		"old": {
			func(r *telemetry.Record, _ http.Header) { r.Version = "HTTP/1.0" },
			map[string]any{"network.protocol.version": "1.0"},
		},
		"usual": {
			func(r *telemetry.Record, _ http.Header) { r.Version = "HTTP/1.1" },
			map[string]any{"network.protocol.version": "1.1"},
		},
		"address with a port": {
			func(r *telemetry.Record, _ http.Header) { r.Host = "[2001:db8::1]:8443" },
			map[string]any{"server.address": "2001:db8::1", "server.port": int64(8443)},
		},
		"address": {
			func(r *telemetry.Record, _ http.Header) { r.Host = "[2001:db8::1]" },
			map[string]any{"server.address": "2001:db8::1", "server.port": nil},
		},
		"name": {
			func(r *telemetry.Record, _ http.Header) { r.Host = "shop.example" },
			map[string]any{"server.address": "shop.example", "server.port": nil},
		},
		"unknown method": {
			func(r *telemetry.Record, _ http.Header) { r.Method = "BREW" },
			map[string]any{"http.request.method": "_OTHER", "http.request.method_original": "BREW"},
		},
		"no query": {func(r *telemetry.Record, _ http.Header) { r.Query = "" }, map[string]any{"url.query": nil}},
		"no peer": {
			func(r *telemetry.Record, _ http.Header) { r.ClientPort = "" },
			map[string]any{"client.port": nil, "network.peer.port": nil},
		},
	}
	for title, test := range tests {
		spans := traced(t, defaults(), func(tracer *Tracer) {
			record, r := begun(nil)
			test.change(record, r.Header)
			tracer.Begin(record, r)
			tracer.Finished(record)
		})
		got := attributes(spans[0])
		for key, want := range test.want {
			if got[key] != want {
				t.Errorf("%s: %s is %v, want %v", title, key, got[key], want)
			}
		}
	}
}

func TestWhatASpanSaysOfFailures(t *testing.T) {
	tests := map[string]struct {
		change func(*telemetry.Record)
		name   string
		status codes.Code
		reason string
		want   map[string]any
	}{
		"of the client": {
			func(r *telemetry.Record) {
				r.Status, r.Code, r.Reason = 404, telemetry.CodeNoRouter, "no router matches"
			},
			"GET", codes.Unset, "",
			map[string]any{"sluice.error.code": "no_router"},
		},
		"of the endpoint": {
			func(r *telemetry.Record) { r.Status = 500 },
			"GET", codes.Error, "",
			map[string]any{"error.type": "500"},
		},
		"of reaching it": {
			func(r *telemetry.Record) {
				r.Status, r.Code, r.Reason = 502, telemetry.CodeUnreachable, "connection refused"
			},
			"GET", codes.Error, "connection refused",
			map[string]any{"error.type": "endpoint_unreachable", "sluice.error.code": "endpoint_unreachable"},
		},
		"in the middle": {
			func(r *telemetry.Record) { r.Status, r.Code, r.Broken = 200, telemetry.CodeBroken, true },
			"GET", codes.Error, "",
			map[string]any{"error.type": "endpoint_broken", "sluice.error.code": "endpoint_broken"},
		},
		"unknown method": {
			func(r *telemetry.Record) { r.Status, r.Method = 405, "BREW" },
			"HTTP", codes.Unset, "",
			map[string]any{"http.request.method": "_OTHER", "http.request.method_original": "BREW"},
		},
	}
	for title, test := range tests {
		spans := traced(t, defaults(), func(tracer *Tracer) {
			record, r := begun(nil)
			test.change(record)
			tracer.Begin(record, r)
			tracer.Finished(record)
		})
		got := attributes(spans[0])
		for _, key := range []string{"sluice.error.code", "error.type", "http.request.method_original"} {
			if diff := cmp.Diff(test.want[key], got[key]); diff != "" {
				t.Errorf("%s: %s: %s", title, key, diff)
			}
		}
		if spans[0].Name != test.name || spans[0].Status.Code != test.status || spans[0].Status.Description != test.reason {
			t.Errorf("%s: %q with status %+v", title, spans[0].Name, spans[0].Status)
		}
	}
}

// A collector refuses a whole batch for one text that is no UTF-8, and clients may send what they like.
func TestTextsOfClientsAreHarmless(t *testing.T) {
	config := defaults()
	config.CapturedRequestHeaders = []string{"X-Long"}
	spans := traced(t, config, func(tracer *Tracer) {
		record, r := begun(http.Header{"User-Agent": {"\xff\xfe"}, "X-Long": {strings.Repeat("\xc3\xa9", 5000)}})
		r.Header["X-Long"] = append(r.Header["X-Long"], make([]string, 100)...)
		record.Path, record.Host, record.Query, record.Version = "/\xff", "h\xff", "a\xff=1", "\xff"
		tracer.Begin(record, r)
		child := record.Span.Child("\xff", true)
		child.Set("text", "\xff")
		child.End("\xff" + strings.Repeat("x", 5000))
		tracer.Finished(record)
	})
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	for _, span := range spans {
		for key, value := range attributes(span) {
			all, _ := value.([]string)
			if one, ok := value.(string); ok {
				all = []string{one}
			}
			for _, one := range all {
				if !utf8.ValidString(one) || len(one) > 3*maxValue || len(all) > maxValues {
					t.Errorf("%s: %d texts, one of %d bytes: %.20q", key, len(all), len(one), one)
				}
			}
		}
		if !utf8.ValidString(span.Name) || !utf8.ValidString(span.Status.Description) ||
			len(span.Status.Description) > maxValue+2 {
			t.Errorf("span %q: %q", span.Name, span.Status.Description)
		}
	}
}

func TestRequestsWithoutARouter(t *testing.T) {
	tests := map[string]struct {
		share   float64
		observe telemetry.Observe
		header  http.Header
		parent  bool
		spans   int
	}{
		"sampled":     {share: 1, observe: telemetry.ObserveTrace, spans: 1},
		"not sampled": {share: 0, observe: telemetry.ObserveTrace},
		"not traced":  {share: 1, observe: telemetry.ObserveMetrics},
		"part of a trace": {
			share: 0, observe: telemetry.ObserveTrace, header: http.Header{"Traceparent": {valid}},
			spans: 1, parent: true,
		},
		"part of no samples": {
			share: 1, observe: telemetry.ObserveTrace,
			header: http.Header{"Traceparent": {valid[:53] + "00"}},
		},
	}
	for title, test := range tests {
		spans := traced(t, share(test.share), func(tracer *Tracer) {
			record, _ := begun(nil)
			record.Observe, record.Router, record.Status, record.RequestHeader = test.observe, "", 404, test.header
			tracer.Finished(record)
			if record.Trace.Valid() != (test.spans > 0) {
				t.Errorf("%s: the record says %+v", title, record.Trace)
			}
		})
		if len(spans) != test.spans {
			t.Errorf("%s: %d spans", title, len(spans))
			continue
		}
		if test.spans > 0 && (spans[0].Parent.IsValid() != test.parent ||
			attributes(spans[0])["http.response.status_code"] != int64(404)) {
			t.Errorf("%s: parent %v, attributes %v", title, spans[0].Parent, spans[0].Attributes)
		}
	}
}
