// Package bodylimit implements the middleware bodyLimit, which refuses requests whose body is too large, with 413 or
// while the body is read. Nothing is buffered.
package bodylimit

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// BodyLimit is one configured bodyLimit.
type BodyLimit struct {
	name     string
	limit    int64
	reason   string
	tooLarge atomic.Uint64
}

// New checks the definition: maxRequestBodyBytes is at least 1.
func New(name string, config dynamic.BodyLimit) (*BodyLimit, error) {
	limit := config.MaxRequestBodyBytes
	if limit < 1 {
		return nil, fmt.Errorf("bodyLimit.maxRequestBodyBytes %d is less than 1", limit)
	}
	return &BodyLimit{
		name: name, limit: limit,
		reason: "the request's body is larger than maxRequestBodyBytes, " + strconv.FormatInt(limit, 10),
	}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*BodyLimit) NoRetain() {}

// Counts returns the number of requests with too large a body ("too_large").
func (l *BodyLimit) Counts() map[string]uint64 {
	return map[string]uint64{"too_large": l.tooLarge.Load()}
}

// Wrap returns a handler that answers 413 to a request with too large a Content-Length, without reading the body, and
// calls next with others. A body of unknown length fails with an [*http.MaxBytesError] at the limit, and next handles
// the error: a service with 413, or by cutting the response that it has begun.
func (l *BodyLimit) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Body == nil || r.Body == http.NoBody:
			next.ServeHTTP(w, r)
		case r.ContentLength > l.limit:
			l.tooLarge.Add(1)
			answer.Refuse(w, r, http.StatusRequestEntityTooLarge, l.name, l.reason)
		case r.ContentLength >= 0:
			// Servers limit the body to Content-Length.
			next.ServeHTTP(w, r)
		default:
			l.stream(w, r, next)
		}
	})
}

// stream serves a request with a body of unknown length.
func (l *BodyLimit) stream(w http.ResponseWriter, r *http.Request, next http.Handler) {
	b := &body{ReadCloser: r.Body, left: l.limit, limit: l.limit}
	r.Body = b
	defer func() {
		if b.exceeded.Load() {
			l.tooLarge.Add(1)
			answer.Note(r, l.name, l.reason)
		}
	}()
	next.ServeHTTP(w, r)
}

// body fails at its limit.
type body struct {
	io.ReadCloser
	// left and err are used by the reader only.
	left, limit int64
	err         error
	// exceeded is read after the handler has returned, possibly during a read.
	exceeded atomic.Bool
}

// Read reads up to the limit.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	// One byte more than allowed distinguishes a body that is too large from one that ends here.
	if int64(len(p))-1 > b.left {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) <= b.left {
		b.left -= int64(n)
		if errors.Is(err, io.EOF) {
			b.err = err
		}
		return n, err
	}
	n = int(b.left)
	b.left = 0
	b.err = &http.MaxBytesError{Limit: b.limit}
	b.exceeded.Store(true)
	return n, b.err
}
