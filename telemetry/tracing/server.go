package tracing

import (
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/telemetry"
)

// describe sets the attributes that are known when a request begins and that middlewares may change.
func (t *Tracer) describe(s *span, header http.Header, tls bool) {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	if forwarded := header.Get("X-Forwarded-Proto"); forwarded != "" {
		scheme = forwarded // It is the entrypoint's, or that of a trusted peer.
	}
	s.text("url.scheme", scheme)
	if agent := header.Get("User-Agent"); agent != "" {
		s.text("user_agent.original", agent)
	}
	s.capture(t.captured.request, header)
}

// capture notes the headers that are there.
func (s *span) capture(wanted []header, from http.Header) {
	for _, one := range wanted {
		if values := from[one.name]; len(values) > 0 {
			s.list(one.key, values)
		}
	}
}

// finish notes the rest, and ends the span.
func (t *Tracer) finish(s *span, record *telemetry.Record) {
	s.request(record)
	if record.Query != "" {
		s.text("url.query", t.query.show(record.Query))
	}
	s.response(record)
	s.capture(t.captured.response, record.ResponseHeader)
	failure := ""
	if failed(record) {
		failure = record.Reason
	}
	s.end(record.Start.Add(record.Duration), failed(record), failure)
}

// request notes the attributes of the request as the semantic conventions name them, and the entrypoint.
func (s *span) request(record *telemetry.Record) {
	name, known := telemetry.RegisteredMethod(record.Method)
	if !known {
		s.text("http.request.method_original", record.Method)
	}
	address, port := split(record.Host)
	s.text("entry_point", record.Entrypoint)
	s.text("http.request.method", name)
	s.int("http.request.body.size", record.BytesReceived)
	s.text("network.protocol.version", version(record.Version))
	s.text("url.path", record.Path)
	s.text("server.address", address)
	s.text("client.address", record.Client)
	s.text("network.peer.address", record.Client)
	if port > 0 {
		s.int("server.port", int64(port))
	}
	if peer, err := strconv.Atoi(record.ClientPort); err == nil {
		s.int("client.port", int64(peer))
		s.int("network.peer.port", int64(peer))
	}
}

// response notes the attributes of the response, and which service has answered.
func (s *span) response(record *telemetry.Record) {
	s.int("http.response.status_code", int64(record.Status))
	s.int("http.response.body.size", record.BytesSent)
	s.int("sluice.generation", int64(record.Generation)) //nolint:gosec // It counts from 1.
	for _, one := range [...]struct{ key, value string }{
		{"traefik.router.name", record.Router},
		{"traefik.service.name", record.Service},
		{"sluice.error.code", string(record.Code)},
	} {
		if one.value != "" {
			s.text(one.key, one.value)
		}
	}
	if failed(record) {
		kind := string(record.Code)
		if kind == "" {
			kind = strconv.Itoa(record.Status)
		}
		s.text("error.type", kind)
	}
}

// failed reports whether the fault is the server's: 4xx is the client's, and a response that was cut has
// another status.
func failed(record *telemetry.Record) bool {
	return record.Status >= http.StatusInternalServerError || record.Broken
}

// version returns 1.1 of HTTP/1.1, and 2 of HTTP/2.0.
func version(protocol string) string {
	number := strings.TrimPrefix(protocol, "HTTP/")
	if number == "1.0" {
		return number
	}
	return strings.TrimSuffix(number, ".0")
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
