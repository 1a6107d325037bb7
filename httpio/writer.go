package httpio

import (
	"io"
	"net/http"
)

// Splicer is a response writer whose ReadFrom may move a body from socket to socket within the kernel.
type Splicer interface {
	// Splices reports whether ReadFrom keeps nothing back that Flush would have to send. It may change when the response
	// begins.
	Splices() bool
}

// Splices reports whether the writer is a [Splicer] that splices now. It does not look through Unwrap: a wrapper
// without the method may change the body.
func Splices(w http.ResponseWriter) bool {
	splicer, ok := w.(Splicer)
	return ok && splicer.Splices()
}

// Discarder is a response writer that may drop the body that is written to it, as one that answers in a handler's
// place.
type Discarder interface {
	// Discards reports whether what is written from now on reaches no client, so that the source need not be read to its
	// end.
	Discards() bool
}

// unwrapper is a wrapper of a response writer, as [http.ResponseController] defines it.
type unwrapper interface {
	Unwrap() http.ResponseWriter
}

// Discards reports whether the writer, or one that it wraps, is a [Discarder] that discards now.
func Discards(w http.ResponseWriter) bool {
	for {
		if discarder, ok := w.(Discarder); ok && discarder.Discards() {
			return true
		}
		outer, ok := w.(unwrapper)
		if !ok {
			return false
		}
		w = outer.Unwrap()
	}
}

// ConnResetter is a response writer that has a connection of its own, as one of HTTP/1.1.
type ConnResetter interface {
	// ResetConn has the connection be reset (RST) if the handler panics with [http.ErrAbortHandler].
	ResetConn()
}

// ResetConn calls ResetConn of the writer, or of one that it wraps, if there is a [ConnResetter]. Others need none: the
// panic resets their stream.
func ResetConn(w http.ResponseWriter) {
	for {
		if resetter, ok := w.(ConnResetter); ok {
			resetter.ResetConn()
			return
		}
		outer, ok := w.(unwrapper)
		if !ok {
			return
		}
		w = outer.Unwrap()
	}
}

// ReadFrom copies the source to the writer, by the writer's own ReadFrom if it has one. [io.Copy] prefers the source's
// WriteTo, which hides the source from the writer.
func ReadFrom(w io.Writer, source io.Reader) (int64, error) {
	if direct, ok := w.(io.ReaderFrom); ok {
		return direct.ReadFrom(source)
	}
	return io.Copy(OnlyWriter{w}, source)
}

// OnlyWriter hides all methods of a writer but Write, so that [io.Copy] does not call its ReadFrom.
type OnlyWriter struct{ io.Writer }
