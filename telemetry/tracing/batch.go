package tracing

// perBatch is how many headers are cut from one piece of memory.
const perBatch = 64

// batch is memory for the traceparent headers of requests that are not sampled.
type batch struct {
	text string
}
