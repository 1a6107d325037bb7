package buffering

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/middleware/answer"
)

// pass lets a request and its response through as they come, within the limits.
func (b *Buffering) pass(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if b.maxRequest > 0 && r.ContentLength < 0 {
		body := &limited{ReadCloser: http.MaxBytesReader(w, r.Body, b.maxRequest)}
		r.Body = body
		defer func() {
			if body.exceeded.Load() {
				b.tooLarge.Add(1)
				answer.Note(r, b.name, b.requestReason())
			}
		}()
	}
	if b.maxResponse == 0 {
		next.ServeHTTP(w, r)
		return
	}
	s := &requestState{buffering: b, writer: w, request: r, next: next}
	streaming := s.newWriter(1)
	streaming.streams = true
	streaming.serve(r)
}

// limited is a body that notes that it was too large.
type limited struct {
	io.ReadCloser
	// exceeded is read when the handler has returned, while a read may still be under way.
	exceeded atomic.Bool
}

// Read reads from the client until the limit is passed.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		l.exceeded.Store(true)
	}
	return n, err
}
