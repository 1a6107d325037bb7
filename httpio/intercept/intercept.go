// Package intercept withholds a response until it is known what becomes of it.
//
// A [Writer] stands between a handler and the server's writer. With the first final status its [Decider] decides:
// the response passes as it is written, its body is dropped, it is held back for [Writer.Commit], or nothing of it
// reaches the client and another one takes its place. Capabilities of the server's writer (package httpio) are
// forwarded.
//
// The package never decides by itself, never buffers a body and never writes a response of its own.
package intercept

import (
	"errors"
	"maps"
	"net/http"
)

// Decision is what becomes of a response.
type Decision int32

const (
	// Undecided is the state until the response begins.
	Undecided Decision = iota
	// Pass sends the response as it is written.
	Pass
	// PassHead sends the head and drops the body.
	PassHead
	// Hold withholds the head until [Writer.Commit]; the body goes to [Writer.Body].
	Hold
	// Discard drops the response.
	Discard
	// ended refuses what is written after [Writer.End].
	ended
)

// Decider decides what becomes of a response.
type Decider interface {
	// Decide is called once, with the first final status or 101, before anything but informational responses was
	// sent. It may change the header and set [Writer.Body]. It returns the status to send.
	Decide(status int) (send int, decision Decision)
}

// ErrDiscarded is returned to the handler of a response that is discarded.
var ErrDiscarded = errors.New("the response is discarded")

const (
	// drainBytes is how much of a discarded body is accepted, so that its connection can be reused.
	drainBytes = 64 << 10
	// maxInterims is how many informational responses are held back; more are dropped.
	maxInterims = 32
)

// interim is an informational response that is held back.
type interim struct {
	status int
	header http.Header
}

// replace makes a header equal to another.
func replace(header, by http.Header) {
	clear(header)
	maps.Copy(header, by)
}

// Sink is a response writer that drops the response. The zero value is ready.
type Sink struct{ header http.Header }

// Header returns the dropped header.
func (s *Sink) Header() http.Header {
	if s.header == nil {
		s.header = make(http.Header)
	}
	return s.header
}

// WriteHeader does nothing.
func (*Sink) WriteHeader(int) {}

// Write drops the bytes.
func (*Sink) Write(p []byte) (int, error) { return len(p), nil }

// WriteString drops the text.
func (*Sink) WriteString(text string) (int, error) { return len(text), nil }

// Flush does nothing.
func (*Sink) Flush() {}
