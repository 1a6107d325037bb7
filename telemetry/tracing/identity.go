package tracing

import (
	"encoding/binary"
	"math/rand/v2"
)

// newTraceID returns a random identity of a trace.
func newTraceID() (out [16]byte) {
	binary.BigEndian.PutUint64(out[:8], rand.Uint64())
	binary.BigEndian.PutUint64(out[8:], max(rand.Uint64(), 1)) // An identity of zeros is invalid.
	return out
}

// newSpanID returns a random identity of a span.
func newSpanID() (out [8]byte) {
	binary.BigEndian.PutUint64(out[:], max(rand.Uint64(), 1))
	return out
}
