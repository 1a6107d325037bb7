// Package forwardauth is the middleware forwardAuth: another server decides whether a request may pass.
//
// What flows in: a request. What flows out: the same request, with headers that the authentication server vouches for, or that server's
// answer instead. It never lets a request pass that the server has not let pass with a whole answer of status 2xx.
package forwardauth

import (
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// ForwardAuth is one configured forwardAuth.
type ForwardAuth struct {
	name   string
	failed atomic.Uint64
}

// Options are what a forwardAuth needs beside its definition.
type Options struct {
	// ReadFile reads the files that tls names; nil reads them from the disk.
	ReadFile func(path string) ([]byte, error)
}

// New checks the definition.
func New(name string, _ dynamic.ForwardAuth, _ Options) (*ForwardAuth, error) {
	return &ForwardAuth{name: name}, nil
}

// KeepsNothing says that no part of a request outlives its handler here.
func (*ForwardAuth) KeepsNothing() {}

// Counts returns how many requests passed, were refused, and failed.
func (f *ForwardAuth) Counts() map[string]uint64 { return map[string]uint64{"failed": f.failed.Load()} }

// Close ends connections.
func (*ForwardAuth) Close() {}

// Wrap returns a handler that refuses everybody.
func (f *ForwardAuth) Wrap(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.failed.Add(1)
		answer.Refuse(w, r, http.StatusInternalServerError, f.name, "nobody was asked")
	})
}
