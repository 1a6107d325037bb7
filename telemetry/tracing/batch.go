package tracing

import (
	"encoding/hex"

	"github.com/sluiceproxy/sluice/telemetry"
)

// perBatch is how many traceparent headers are cut from one piece of memory.
const perBatch = 64

// batch holds new identities and the headers that tell of them: one allocation for many requests. A request that is sampled all the same
// uses the trace's identity and leaves the header.
type batch struct {
	text       string
	identities [perBatch]telemetry.TraceContext
	left       int
}

// take returns an identity that nobody has had, and the header of a request that is not sampled.
func (b *batch) take() (telemetry.TraceContext, string) {
	if b.left == 0 {
		b.fill()
	}
	b.left--
	return b.identities[b.left], b.text[b.left*parentLength : (b.left+1)*parentLength]
}

func (b *batch) fill() {
	var text [perBatch * parentLength]byte
	for i := range b.identities {
		b.identities[i] = telemetry.TraceContext{TraceID: newTraceID(), SpanID: newSpanID()}
		writeParent(text[i*parentLength:], b.identities[i])
	}
	b.text, b.left = string(text[:]), perBatch
}

// writeParent writes the header of an identity; there is room for parentLength bytes.
func writeParent(to []byte, identity telemetry.TraceContext) {
	copy(to, "00-")
	hex.Encode(to[3:], identity.TraceID[:])
	to[35] = '-'
	hex.Encode(to[36:], identity.SpanID[:])
	copy(to[52:], "-00")
	if identity.Sampled {
		to[54] = '1'
	}
}

// next returns what batch.take does, from a batch of this processor.
func (t *Tracer) next() (telemetry.TraceContext, string) {
	b := t.batches.Get().(*batch)
	identity, text := b.take()
	t.batches.Put(b)
	return identity, text
}
