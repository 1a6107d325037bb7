package forward

import (
	"io"
	"net/http"
	"time"
)

const (
	// discardBytes and discardTime bound how much is read of a body that nobody gets, so that its connection can be used again.
	discardBytes = 64 << 10
	discardTime  = 100 * time.Millisecond
)

// discards reports whether a writer, or one that it wraps, throws the body away that is about to be written: a middleware that answers in
// the endpoint's place says so, since an endpoint can't keep it waiting then.
func discards(w http.ResponseWriter) bool {
	for {
		if told, ok := w.(interface{ Discards() bool }); ok && told.Discards() {
			return true
		}
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = outer.Unwrap()
	}
}

// discard reads a body that nobody gets, within bounds. It leaves nobody behind who knows the body, which may be another exchange's then.
func discard(body io.ReadCloser) {
	closed := make(chan struct{})
	timer := time.AfterFunc(discardTime, func() {
		defer close(closed)
		_ = body.Close() // Who reads is told by it.
	})
	_, _ = io.CopyN(io.Discard, body, discardBytes) // Whatever comes of it, the endpoint has answered.
	if !timer.Stop() {
		<-closed
	}
}
