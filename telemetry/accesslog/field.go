package accesslog

import (
	"crypto/tls"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/telemetry"
)

// field is a member of a line of JSON. write appends its value, or returns b as it is where the request has none.
type field struct {
	name  string
	write func(e *encoder, b []byte, r *request) []byte
}

// fields returns all fields in the order of their names. Those of Traefik have its names and forms.
func fields() []field {
	all := slices.Concat(requestFields(), timeFields(), originFields(), tlsFields(), traceFields(), ourFields())
	slices.SortFunc(all, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return all
}

// text is a field that holds a text of the record, and is absent where that is empty.
func text(name string, of func(*telemetry.Record) string) field {
	return field{name, func(_ *encoder, b []byte, r *request) []byte {
		if value := of(r.record); value != "" {
			return appendJSON(b, value)
		}
		return b
	}}
}

// number is a field that holds a whole number.
func number(name string, of func(*telemetry.Record) int64) field {
	return field{name, func(_ *encoder, b []byte, r *request) []byte { return strconv.AppendInt(b, of(r.record), 10) }}
}

func requestFields() []field {
	type record = telemetry.Record
	return []field{
		{"ClientAddr", func(_ *encoder, b []byte, r *request) []byte {
			return append(appendAddress(append(b, '"'), r.record.Client, r.record.ClientPort), '"')
		}},
		{"ClientHost", func(_ *encoder, b []byte, r *request) []byte { return appendJSON(b, r.clientHost()) }},
		{"ClientPort", func(_ *encoder, b []byte, r *request) []byte { return appendJSON(b, orDash(r.record.ClientPort)) }},
		{"ClientUsername", func(_ *encoder, b []byte, r *request) []byte { return appendJSON(b, orDash(r.record.Username)) }},
		{"RequestPath", func(e *encoder, b []byte, r *request) []byte {
			if r.record.Path == "" {
				return b
			}
			return append(r.appendTarget(append(b, '"'), e.query, appendText), '"')
		}},
		text("RequestHost", func(r *record) string { return first(splitHost(r.Host)) }),
		text("RequestPort", func(r *record) string { return second(splitHost(r.Host)) }),
		{"RequestScheme", func(_ *encoder, b []byte, r *request) []byte {
			if r.record.TLS != nil {
				return append(b, `"https"`...)
			}
			return append(b, `"http"`...)
		}},
		{"RequestCount", func(_ *encoder, b []byte, r *request) []byte { return strconv.AppendUint(b, r.count, 10) }},
		text("RequestAddr", func(r *record) string { return r.Host }),
		text("RequestMethod", func(r *record) string { return r.Method }),
		text("RequestProtocol", func(r *record) string { return r.Version }),
		number("RequestContentSize", func(r *record) int64 { return r.BytesReceived }),
		text("entryPointName", func(r *record) string { return r.Entrypoint }),
		text("RouterName", func(r *record) string { return r.Router }),
		text("ServiceName", func(r *record) string { return r.Service }),
		text("ServiceAddr", func(r *record) string { return r.Endpoint }),
		text("ServiceURL", func(r *record) string { return r.EndpointURL }),
	}
}

func timeFields() []field {
	type record = telemetry.Record
	return []field{
		{"StartUTC", func(_ *encoder, b []byte, r *request) []byte {
			return appendTime(b, r.start.utc, "Z", r.record.Start.Nanosecond())
		}},
		{"StartLocal", func(_ *encoder, b []byte, r *request) []byte {
			return appendTime(b, r.start.local, r.start.zone, r.record.Start.Nanosecond())
		}},
		number("Duration", func(r *record) int64 { return int64(r.Duration) }),
		number("Overhead", func(r *record) int64 { return int64(r.Duration - r.ServiceDuration) }),
		number("RetryAttempts", func(r *record) int64 { return int64(max(r.Tries-1, 0)) }),
	}
}

func originFields() []field {
	type record = telemetry.Record
	return []field{
		number("OriginDuration", func(r *record) int64 { return int64(r.ServiceDuration) }),
		number("OriginStatus", func(r *record) int64 { return int64(r.OriginStatus) }),
		number("OriginContentSize", func(r *record) int64 { return r.OriginBytes }),
		number("DownstreamStatus", func(r *record) int64 { return int64(r.Status) }),
		number("DownstreamContentSize", func(r *record) int64 { return r.BytesSent }),
		{"GzipRatio", func(_ *encoder, b []byte, r *request) []byte {
			origin, sent := r.record.OriginBytes, r.record.BytesSent
			if origin <= 0 || sent <= 0 || origin == sent {
				return b
			}
			return appendRatio(b, origin, sent)
		}},
	}
}

func tlsFields() []field {
	ciphers := map[uint16]string{}
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		ciphers[suite.ID] = suite.Name
	}
	return []field{
		text("TLSVersion", func(r *telemetry.Record) string {
			if r.TLS == nil {
				return ""
			}
			return tlsVersion(r.TLS.Version)
		}),
		text("TLSCipher", func(r *telemetry.Record) string {
			if r.TLS == nil {
				return ""
			}
			if name := ciphers[r.TLS.CipherSuite]; name != "" {
				return name
			}
			return "unknown"
		}),
		text("TLSClientSubject", func(r *telemetry.Record) string {
			if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || r.TLS.PeerCertificates[0] == nil {
				return ""
			}
			return r.TLS.PeerCertificates[0].Subject.String()
		}),
	}
}

func tlsVersion(version uint16) string {
	switch version {
	case tls.VersionTLS10:
		return "1.0"
	case tls.VersionTLS11:
		return "1.1"
	case tls.VersionTLS12:
		return "1.2"
	case tls.VersionTLS13:
		return "1.3"
	}
	return "unknown"
}

func traceFields() []field {
	trace := func(_ *encoder, b []byte, r *request) []byte {
		if !r.record.Trace.Valid() {
			return b
		}
		return appendHex(b, r.record.Trace.TraceID[:])
	}
	span := func(_ *encoder, b []byte, r *request) []byte {
		if !r.record.Trace.Valid() {
			return b
		}
		return appendHex(b, r.record.Trace.SpanID[:])
	}
	return []field{{"TraceId", trace}, {"trace_id", trace}, {"SpanId", span}, {"span_id", span}}
}

func appendHex(b, id []byte) []byte {
	return append(hex.AppendEncode(append(b, '"'), id), '"')
}

// ourFields are those that Traefik has not.
func ourFields() []field {
	return []field{
		{"RequestId", func(e *encoder, b []byte, r *request) []byte {
			if r.record.RequestID != "" {
				return appendJSON(b, r.record.RequestID)
			}
			return append(e.ids.appendID(append(b, '"'), r.id), '"')
		}},
		text("ErrorCode", func(r *telemetry.Record) string { return string(r.Code) }),
		text("ErrorReason", func(r *telemetry.Record) string { return r.Reason }),
		{"ConfigGeneration", func(_ *encoder, b []byte, r *request) []byte {
			return strconv.AppendUint(b, r.record.Generation, 10)
		}},
	}
}

func first(one, _ string) string { return one }

func second(_, other string) string { return other }

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
