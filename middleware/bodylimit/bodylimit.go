// Package bodylimit is the middleware bodyLimit: it refuses requests whose body is too large.
//
// What flows in: a request. What flows out: the same request, whose body fails once more of it came than may, or an
// answer of 413. It never reads a body by itself and keeps nothing back: requests and responses stream as without it.
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

// NoRetain says that no part of a request outlives its handler here.
func (*BodyLimit) NoRetain() {}

// Counts returns how many requests had too large a body ("too_large").
func (l *BodyLimit) Counts() map[string]uint64 {
	return map[string]uint64{"too_large": l.tooLarge.Load()}
}

// Wrap returns a handler that answers 413 to a request that announces too large a body, without asking for it, and
// calls next with any other. A body of unknown length fails with an [*http.MaxBytesError] where it becomes too large,
// and next answers for it: a service with 413, or by cutting the response that it has begun.
func (l *BodyLimit) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Body == nil || r.Body == http.NoBody:
			next.ServeHTTP(w, r)
		case r.ContentLength > l.limit:
			l.tooLarge.Add(1)
			answer.Refuse(w, r, http.StatusRequestEntityTooLarge, l.name, l.reason)
		case r.ContentLength >= 0:
			// Servers read no more of a body than it has by its head.
			next.ServeHTTP(w, r)
		default:
			l.stream(w, r, next)
		}
	})
}

// stream serves a request whose body has no length beforehand.
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

// body is a body that fails after its limit.
type body struct {
	io.ReadCloser
	// left and err belong to the reader.
	left, limit int64
	err         error
	// exceeded is read when the handler has returned, while a read may still go on.
	exceeded atomic.Bool
}

// Read reads from the client until the limit is passed.
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
