package tracing

import (
	"strings"

	"github.com/sluiceproxy/sluice/telemetry"
)

// perBatch is how many traceparent headers are cut from one piece of memory.
const perBatch = 64

// batch is the memory of the headers of requests that are not sampled: one allocation for many. A header is
// written when it is needed, since what is written long before has left the processor's cache by then.
type batch struct {
	text strings.Builder
	left int
}

// cut returns the header as a text.
func (b *batch) cut(header *[telemetry.TraceparentLength]byte) string {
	if b.left == 0 {
		b.left = perBatch
		b.text.Reset() // What was cut from it stays.
		b.text.Grow(perBatch * telemetry.TraceparentLength)
	}
	b.left--
	at := b.text.Len()
	b.text.Write(header[:])
	return b.text.String()[at:]
}

// header returns the header of a request that is not sampled.
func (t *Tracer) header(of *telemetry.TraceContext) string {
	written := of.Traceparent()
	b := t.batches.Get().(*batch)
	text := b.cut(&written)
	t.batches.Put(b)
	return text
}
