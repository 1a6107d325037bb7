// Package errorpages is the middleware errors: another service answers in place of answers with certain status codes.
//
// What flows in: a request, and the answer that those behind the middleware give to it. What flows out: that answer as it comes, or the
// page of the error page service under a status of the middleware's choosing. Of an answer that is replaced nothing reaches the client.
// It never asks for the page of a page: what the error page service answers is sent.
package errorpages

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// ErrorPages is one configured errors.
type ErrorPages struct {
	name     string
	service  http.Handler
	codes    dynamic.StatusCodes
	rewrites rewrites
	target   target
	headers  selection
	// watches holds those of which nobody keeps a part.
	watches          sync.Pool
	replaced, failed atomic.Uint64
}

// New checks the definition. The service is the handler of the one that the option service names; it is asked for pages. status and the
// keys of statusRewrites are codes, ranges and classes from 100 to 599, values of statusRewrites are codes from 200 to 599, query must be
// a path with perhaps a query in which only known placeholders stand, and errorRequestHeaders lists names of headers. The name is the
// middleware's, for the records of requests.
func New(name string, config dynamic.ErrorPage, service http.Handler) (*ErrorPages, error) {
	if config.Service == "" || service == nil {
		return nil, errors.New("errors.service is missing")
	}
	e := &ErrorPages{name: name, service: service}
	var err error
	if e.codes, err = dynamic.ParseStatusCodes(config.Status); err != nil {
		return nil, fmt.Errorf("errors.%w", err)
	}
	if e.rewrites, err = parseRewrites(config.StatusRewrites); err != nil {
		return nil, err
	}
	if e.target, err = parseTarget(config.Query); err != nil {
		return nil, fmt.Errorf("errors.query: %w", err)
	}
	if e.headers, err = parseSelection(config.ErrorRequestHeaders); err != nil {
		return nil, err
	}
	return e, nil
}

// KeepsNothing says that no part of a request outlives its handler here, as far as the error page service keeps none.
func (*ErrorPages) KeepsNothing() {}

// Counts returns how many answers were replaced by a page, and for how many there was none to be had: the error page service refused or
// could not be reached, or the request to it could not be made.
func (e *ErrorPages) Counts() map[string]uint64 {
	return map[string]uint64{"replaced": e.replaced.Load(), "failed": e.failed.Load()}
}

// Wrap returns a handler that calls next and sends a page in place of its answer if the answer's status is listed.
func (e *ErrorPages) Wrap(next http.Handler) http.Handler {
	if e.codes.Empty() {
		return next
	}
	_, transient := next.(interface{ KeepsNothing() })
	return &step{pages: e, next: next, transient: transient}
}

// step is the middleware of one router.
type step struct {
	pages *ErrorPages
	next  http.Handler
	// transient says that next keeps no part of a request or of its writer if the request's record says so of the service.
	transient bool
}

// ServeHTTP lets next answer, and the error page service if that answer is to be replaced.
func (s *step) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	watch, recycled := s.pages.watches.Get().(*watch)
	if !recycled {
		watch = newWatch(&s.pages.codes)
	}
	watch.open(w, r)
	watch.serve(s.next, watch, r)
	if watch.replaces(r) {
		s.pages.replace(w, r, watch)
		return
	}
	if s.transient && telemetry.RecordFrom(r.Context()).Released {
		watch.reset()
		s.pages.watches.Put(watch)
	}
}
