package tracing

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/telemetry"
)

// parentLength is the least length of a traceparent header.
const parentLength = telemetry.TraceparentLength

// parent parses the values of the request's traceparent header; false without a valid one. More than one is
// none (W3C Trace Context, section 3.2).
func parent(values []string) (telemetry.TraceContext, bool) {
	if len(values) != 1 {
		return telemetry.TraceContext{}, false
	}
	return parseParent(values[0])
}

// parseParent reads version-traceid-parentid-flags in lower-case hexadecimal digits (section 3.2.2). Later
// versions than 00 may have more after another hyphen; version ff and identities of zeros are invalid.
func parseParent(text string) (telemetry.TraceContext, bool) {
	var out telemetry.TraceContext
	var version, flags [1]byte
	if len(text) < parentLength || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return out, false
	}
	if !unhex(version[:], text[:2]) || !unhex(out.TraceID[:], text[3:35]) || !unhex(out.SpanID[:], text[36:52]) ||
		!unhex(flags[:], text[53:55]) {
		return telemetry.TraceContext{}, false
	}
	if version[0] == 0xff || !out.Valid() || (len(text) > parentLength && (version[0] == 0 || text[parentLength] != '-')) {
		return telemetry.TraceContext{}, false
	}
	out.Sampled = flags[0]&1 != 0
	return out, true
}

func unhex(to []byte, text string) bool {
	for i := range to {
		high, low := nibble(text[2*i]), nibble(text[2*i+1])
		if high > 15 || low > 15 {
			return false
		}
		to[i] = high<<4 | low
	}
	return true
}

// nibble returns the value of a digit, or more than 15 of what is none.
func nibble(digit byte) byte {
	switch {
	case '0' <= digit && digit <= '9':
		return digit - '0'
	case 'a' <= digit && digit <= 'f':
		return digit - 'a' + 10
	}
	return 16
}

// longestState is the length in bytes of the longest tracestate that becomes a part of a span; 512 is what one
// must take at least (W3C Trace Context, section 3.3.1.5).
const longestState = 2048

// state returns the request's tracestate in its canonical form; one that is malformed or too long is none. The
// header itself is passed on as it is.
func state(header http.Header) trace.TraceState {
	joined := strings.Join(header["Tracestate"], ",")
	if joined == "" || len(joined) > longestState {
		return trace.TraceState{}
	}
	out, err := trace.ParseTraceState(strings.Clone(joined))
	if err != nil {
		return trace.TraceState{}
	}
	return out
}
