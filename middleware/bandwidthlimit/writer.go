package bandwidthlimit

import (
	"context"
	"net/http"
	"time"
)

// writer limits the rate of one response. It has no ReadFrom, so that bodies are written in parts.
type writer struct {
	http.ResponseWriter
	limit *BandwidthLimit
	// context is that of the request, which ends the wait of a response.
	context context.Context
	start   time.Time
	// sent is the number of bytes so far. What was written since the last flush is flushed before a wait.
	sent    int64
	pending bool
}

// Unwrap returns the server's writer, for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write writes the body in parts, and waits before those for which the rate is used up.
func (w *writer) Write(body []byte) (n int, err error) {
	if len(body) == 0 {
		return w.ResponseWriter.Write(body)
	}
	for n < len(body) {
		room, err := w.room(len(body) - n)
		if err != nil {
			return n, err
		}
		written, err := w.ResponseWriter.Write(body[n : n+room])
		n, w.sent, w.pending = n+written, w.sent+int64(written), true
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// room returns how many of the bytes may be written now. It waits until that is all or a slice of the rate.
func (w *writer) room(bytes int) (int, error) {
	least := min(int64(bytes), w.limit.slice)
	for {
		elapsed := time.Since(w.start)
		if room := w.limit.given(elapsed) - w.sent; room >= least {
			return int(min(room, int64(bytes))), nil
		}
		if err := w.pause(w.limit.wait(w.sent+least, elapsed)); err != nil {
			return 0, err
		}
	}
}

// pause sends what has been written, and waits. It fails when the request's context ends.
func (w *writer) pause(wait time.Duration) error {
	if w.pending {
		w.pending = false
		_ = http.NewResponseController(w.ResponseWriter).Flush() // A failure shows with the next write.
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.context.Done():
		return context.Cause(w.context)
	}
}
