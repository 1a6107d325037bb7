// Package errors is the middleware errors: another service answers in place of answers with certain status codes.
//
// Input is a request and the response of the handlers behind the middleware. Output is that response as it
// arrives, or the page of the error page service under a configured status. Nothing of a replaced response
// reaches the client. Pages themselves are never replaced.
package errors

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/telemetry"
)

// ErrorPages is one configured errors middleware.
type ErrorPages struct {
	name     string
	service  http.Handler
	codes    dynamic.StatusCodes
	rewrites rewrites
	target   target
	headers  selection
	added    []addedHeader
	// pageStatus says that the client gets the status of the page.
	pageStatus bool
	// original says that the request for a page is the original one. Its body is sent with at most maxBody bytes.
	original bool
	maxBody  int64
	memory   *replay.Memory
	// own says that answers of endpoints pass.
	own bool
	// kept are the names of headers of the replaced answer that the client gets.
	kept []string
	// trackers recycles trackers to which no reference is left.
	trackers         sync.Pool
	replaced, failed atomic.Uint64
}

// New validates the definition. service is the handler of the service that the option service names. status and
// the keys of statusRewrites are codes, ranges and classes from 100 to 599, values of statusRewrites are codes
// from 200 to 599, query must be a path with an optional query and only known placeholders,
// errorRequestHeaders lists header names, and requestHeaders has texts with known variables and placeholders.
// pageStatus excludes statusRewrites. errorResponseHeaders lists header names that do not frame the response, and
// maxRequestBodyBytes needs originalRequest. name is the middleware's, for the records of requests. memory lends what
// the bodies of requests are kept in, and may be shared; nil makes one of [MemoryBytes].
func New(name string, config dynamic.ErrorPage, service http.Handler, memory *replay.Memory) (*ErrorPages, error) {
	if config.Service == "" || service == nil {
		return nil, errors.New("errors.service is missing")
	}
	e := &ErrorPages{name: name, service: service, memory: memory}
	if memory == nil {
		e.memory = replay.NewMemory(MemoryBytes)
	}
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
	if e.added, err = parseAdded(config.RequestHeaders); err != nil {
		return nil, err
	}
	if e.pageStatus = config.PageStatus; e.pageStatus && len(e.rewrites) > 0 {
		return nil, errors.New("errors.pageStatus and errors.statusRewrites exclude one another")
	}
	if e.kept, err = parseKept(config.ErrorResponseHeaders); err != nil {
		return nil, err
	}
	e.own = config.OwnErrors
	return e, e.setOriginal(&config)
}

const (
	// maxBody is how much of a body is kept by default.
	maxBody = 1 << 20
	// MemoryBytes is how much memory all error pages together keep bodies in.
	MemoryBytes = 64 << 20
)

// setOriginal reads the options originalRequest and maxRequestBodyBytes.
func (e *ErrorPages) setOriginal(config *dynamic.ErrorPage) error {
	e.original, e.maxBody = config.OriginalRequest, config.MaxRequestBodyBytes
	switch {
	case e.maxBody < 0:
		return fmt.Errorf("errors.maxRequestBodyBytes %d is negative", e.maxBody)
	case e.maxBody > 0 && !e.original:
		return errors.New("errors.maxRequestBodyBytes needs originalRequest, without which no body is sent")
	case e.maxBody == 0:
		e.maxBody = maxBody
	}
	return nil
}

// NoRetain says that no part of a request is kept after the handler's return, if the error page service keeps
// none.
func (*ErrorPages) NoRetain() {}

// Counts returns how many responses were replaced by a page, and for how many there was no page: the error page
// service refused or could not be reached, or the request to it could not be made.
func (e *ErrorPages) Counts() map[string]uint64 {
	return map[string]uint64{"replaced": e.replaced.Load(), "failed": e.failed.Load()}
}

// Wrap returns a handler that calls next and sends a page instead if the response's status is listed.
func (e *ErrorPages) Wrap(next http.Handler) http.Handler {
	if e.codes.Empty() {
		return next
	}
	recyclable := !httpio.Retains(next)
	return &step{pages: e, next: next, recyclable: recyclable}
}

// step is the middleware in front of one handler.
type step struct {
	pages *ErrorPages
	next  http.Handler
	// recyclable says that next keeps no part of a request or its writer, if the record's Released says so of
	// the service.
	recyclable bool
}

// ServeHTTP runs next, and the error page service if the response is to be replaced.
func (s *step) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tracker, recycled := s.pages.trackers.Get().(*tracker)
	if !recycled {
		tracker = newTracker(s.pages)
	}
	record := telemetry.RecordFrom(r.Context())
	tracker.reset(w, record, received{
		method: r.Method, host: r.Host, path: r.URL.Path, rawPath: r.URL.RawPath, query: r.URL.RawQuery,
	})
	body := s.pages.keep(r)
	defer body.release()
	tracker.Serve(s.next, tracker, r)
	if tracker.replaces(r) {
		s.pages.replace(w, r, tracker, body)
		return
	}
	if s.recyclable && record.Released {
		tracker.reset(nil, nil, received{})
		s.pages.trackers.Put(tracker)
	}
}
