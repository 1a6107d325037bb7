package telemetry

import "encoding/binary"

// TraceparentLength is the length in bytes of a traceparent header of version 00.
const TraceparentLength = 55

// TraceContext is the identity of a span as W3C Trace Context has it. The zero value is none.
type TraceContext struct {
	TraceID [16]byte
	SpanID  [8]byte
	Sampled bool
}

// Valid reports whether there is an identity.
func (t TraceContext) Valid() bool { return t.TraceID != [16]byte{} && t.SpanID != [8]byte{} }

// Traceparent returns the header that makes others a part of the span (W3C Trace Context, section 3.2).
func (t *TraceContext) Traceparent() (to [TraceparentLength]byte) {
	copy(to[:], "00-")
	for i := 0; i < len(t.TraceID); i += 4 {
		writeHex(to[3+2*i:], t.TraceID[i:])
	}
	to[35] = '-'
	for i := 0; i < len(t.SpanID); i += 4 {
		writeHex(to[36+2*i:], t.SpanID[i:])
	}
	copy(to[52:], "-00")
	if t.Sampled {
		to[54] = '1'
	}
	return to
}

// writeHex writes four bytes as eight lower-case digits, all at once: each half of a byte gets a byte of one number.
func writeHex(to, from []byte) {
	digits := uint64(binary.BigEndian.Uint32(from))
	digits = (digits | digits<<16) & 0x0000ffff0000ffff
	digits = (digits | digits<<8) & 0x00ff00ff00ff00ff
	digits = (digits | digits<<4) & 0x0f0f0f0f0f0f0f0f
	letters := (digits + 0x0606060606060606) >> 4 & 0x0101010101010101 // 1 for each digit beyond 9
	binary.BigEndian.PutUint64(to, digits+0x3030303030303030+letters*('a'-'0'-10))
}
