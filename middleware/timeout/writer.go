package timeout

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/sluiceproxy/sluice/httpio/intercept"
)

// errOver is the end of a request whose time is over.
var errOver = context.DeadlineExceeded

// errCut is the error of a Write to a response that was cut.
var errCut = fmt.Errorf("the time for the response is over: %w", errOver)

// writer passes a response on, and records when it begins and moves.
type writer struct {
	intercept.Writer
	state *requestState
}

// Decide passes a response that begins in time, and discards others.
func (w *writer) Decide(status int) (int, intercept.Decision) {
	if !w.state.begin(status) {
		return status, intercept.Discard
	}
	if w.state.timeout.idle > 0 {
		// Splicing does not report its progress: an endpoint that sends little at a time would count as idle.
		w.Body = movingBody{w.state}
	}
	return status, intercept.Pass
}

// WriteHeader sends a status. An informational one counts as movement.
func (w *writer) WriteHeader(status int) {
	w.state.touch()
	w.Writer.WriteHeader(status)
}

// Hijack takes over the connection, to which idle alone applies from then on.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	s := w.state
	if !s.begin(http.StatusSwitchingProtocols) {
		return nil, nil, errCut
	}
	connection, buffers, err := w.Writer.Hijack()
	if err != nil {
		return nil, nil, err
	}
	return s.take(connection), buffers, nil
}

// movingBody is the body of a response whose idle time is bounded.
type movingBody struct{ state *requestState }

// Write sends a part of the body.
func (b movingBody) Write(p []byte) (int, error) {
	b.state.touch()
	n, err := b.state.writer.ResponseWriter.Write(p)
	b.state.touch()
	return n, err
}
