package tracing

import (
	"net"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/telemetry"
)

// describe notes what is known of a request when it begins: what middlewares may change later.
func (t *Tracer) describe(s *span, header http.Header, tls bool) {
	out := make([]attribute.KeyValue, 0, 2+len(t.captured.request))
	scheme := "http"
	if tls {
		scheme = "https"
	}
	if told := header.Get("X-Forwarded-Proto"); told != "" {
		scheme = told // It is the entrypoint's, or that of a peer whom it trusts.
	}
	out = append(out, attribute.String("url.scheme", text(scheme)))
	if agent := header.Get("User-Agent"); agent != "" {
		out = append(out, attribute.String("user_agent.original", text(agent)))
	}
	s.inner.SetAttributes(capture(out, t.captured.request, header)...)
}

// capture adds the headers that are there.
func capture(out []attribute.KeyValue, wanted []header, from http.Header) []attribute.KeyValue {
	for _, one := range wanted {
		if values := from[one.name]; len(values) > 0 {
			out = append(out, attribute.StringSlice(one.key, texts(values)))
		}
	}
	return out
}

// finish notes the rest, and ends the span.
func (t *Tracer) finish(s *span, record *telemetry.Record) {
	out := make([]attribute.KeyValue, 0, 24)
	out = request(out, record)
	if record.Query != "" {
		out = append(out, attribute.String("url.query", t.query.show(record.Query)))
	}
	out = response(out, record)
	s.inner.SetAttributes(capture(out, t.captured.response, record.ResponseHeader)...)
	if failed(record) {
		s.inner.SetStatus(codes.Error, text(record.Reason))
	}
	s.inner.End(trace.WithTimestamp(record.Start.Add(record.Duration)))
}

// request adds the attributes of the request as the semantic conventions name them, and the entrypoint.
func request(out []attribute.KeyValue, record *telemetry.Record) []attribute.KeyValue {
	name, known := telemetry.RegisteredMethod(record.Method)
	if !known {
		out = append(out, attribute.String("http.request.method_original", text(record.Method)))
	}
	address, port := split(record.Host)
	client := text(record.Client)
	out = append(out,
		attribute.String("entry_point", text(record.Entrypoint)),
		attribute.String("http.request.method", name),
		attribute.Int64("http.request.body.size", record.BytesReceived),
		attribute.String("network.protocol.version", version(record.Version)),
		attribute.String("url.path", text(record.Path)),
		attribute.String("server.address", text(address)),
		attribute.String("client.address", client),
		attribute.String("network.peer.address", client),
	)
	if port > 0 {
		out = append(out, attribute.Int("server.port", port))
	}
	if peer, err := strconv.Atoi(record.ClientPort); err == nil {
		out = append(out, attribute.Int("client.port", peer), attribute.Int("network.peer.port", peer))
	}
	return out
}

// response adds the attributes of the response, and who has answered.
func response(out []attribute.KeyValue, record *telemetry.Record) []attribute.KeyValue {
	out = append(out,
		attribute.Int("http.response.status_code", record.Status),
		attribute.Int64("http.response.body.size", record.BytesSent),
		attribute.Int64("sluice.generation", int64(record.Generation)), //nolint:gosec // It counts from 1.
	)
	if record.Router != "" {
		out = append(out, attribute.String("traefik.router.name", record.Router))
	}
	if record.Service != "" {
		out = append(out, attribute.String("traefik.service.name", record.Service))
	}
	if record.Code != "" {
		out = append(out, attribute.String("sluice.error.code", string(record.Code)))
	}
	if failed(record) {
		kind := string(record.Code)
		if kind == "" {
			kind = strconv.Itoa(record.Status)
		}
		out = append(out, attribute.String("error.type", kind))
	}
	return out
}

// failed reports whether the fault is the server's: 4xx is the client's, and a response that was cut has another status.
func failed(record *telemetry.Record) bool {
	return record.Status >= http.StatusInternalServerError || record.Broken
}

// version returns 1.1 of HTTP/1.1, and 2 of HTTP/2.0.
func version(protocol string) string {
	number := strings.TrimPrefix(protocol, "HTTP/")
	if number == "1.0" {
		return number
	}
	return strings.TrimSuffix(text(number), ".0")
}

// split returns the parts of a host; the port is 0 where there is none.
func split(host string) (string, int) {
	address, port, err := net.SplitHostPort(host)
	if err != nil {
		return strings.Trim(host, "[]"), 0
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return address, 0
	}
	return address, number
}
