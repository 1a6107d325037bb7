package httpio

import "io"

// ReadyReader is a body of which the bytes that have arrived can be read without waiting for more.
type ReadyReader interface {
	// ReadNow reads up to len(p) bytes and does not block. Zero bytes without an error mean that nothing has arrived yet.
	// Its errors are those of Read, with io.EOF at the end.
	ReadNow(p []byte) (n int, err error)
}

// BufferedBody is a body that reports whether its rest is in memory.
type BufferedBody interface {
	io.WriterTo
	// Ready reports whether WriteTo would not wait for the peer.
	Ready() bool
}

// WaitNotifier is a destination of [io.WriterTo] that acts before the source waits for its peer, as by flushing.
type WaitNotifier interface {
	// Waiting is called right before such a wait, on the goroutine that writes.
	Waiting()
}

// Buffered reports whether all of the rest of a body is in memory.
func Buffered(body io.Reader) (BufferedBody, bool) {
	buffered, ok := body.(BufferedBody)
	return buffered, ok && buffered.Ready()
}
