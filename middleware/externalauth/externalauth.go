// Package externalauth implements the middleware externalAuth: a service decides whether a request may pass, by its
// answer to an HTTP request or to a call of envoy.service.auth.v3.Authorization.
//
// A request passes only if a complete answer that grants it has come in time; it then goes on with what the answer
// sets. Otherwise the client gets the refusal of the answer, or 403 where there is no answer that can be used. Values
// that the service sets are never taken from the client, and nothing that it exchanges with the client is logged.
package externalauth

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/middleware/guard"
	"github.com/sluiceproxy/sluice/telemetry"
)

// timeout is how long the service has for its whole answer, with its attempts and the wait for one of the slots.
const timeout = 30 * time.Second

// ExternalAuth is one configured externalAuth.
type ExternalAuth struct {
	name     string
	settings *settings
	asker    asker
	slots    authorize.Slots
	counts   *counts
}

// counts are what has become of requests since the object was made.
type counts struct{ passed, refused, failed atomic.Uint64 }

// asker asks the service about a request in one protocol.
type asker interface {
	// ask returns what the service decides. The context ends with the time for the answer.
	ask(ctx context.Context, r *http.Request, body []byte) (*verdict, error)
}

// verdict is a decision of the service. Exactly one of its fields is set.
type verdict struct {
	grant  *grant
	denial *denial
}

// denial is the response that a client gets instead of the service's.
type denial struct {
	status int
	header http.Header
	body   []byte
}

// New checks the definition. Service is the handler of the service that the option service names.
func New(name string, config dynamic.ExternalAuth, service http.Handler) (*ExternalAuth, error) {
	if config.Service == "" || service == nil {
		return nil, errors.New("externalAuth.service is missing")
	}
	checked, err := newSettings(&config)
	if err != nil {
		return nil, err
	}
	e := &ExternalAuth{name: name, settings: checked, slots: authorize.NewSlots(), counts: new(counts)}
	if checked.grpc {
		e.asker = &grpcAsker{settings: checked, service: service}
	} else {
		e.asker = &httpAsker{settings: checked, service: service}
	}
	return e, nil
}

// NoRetain says that no part of a request outlives its handler here.
func (*ExternalAuth) NoRetain() {}

// Guards reports that the service restricts access at all trust levels.
func (*ExternalAuth) Guards() guard.Access { return guard.Access{Guards: guard.Always} }

// Counts returns how many requests there were since the object was made: "passed" went on, "refused" got the refusal of
// the service or 413, and "failed" found no answer that can be used.
func (e *ExternalAuth) Counts() map[string]uint64 {
	return map[string]uint64{
		"passed": e.counts.passed.Load(), "refused": e.counts.refused.Load(), "failed": e.counts.failed.Load(),
	}
}

// Wrap returns a handler that asks the service about every request, and calls next when it grants it. It answers 413
// when a body is larger than maxBodySize, and 403 when there is no answer that can be used within 30 s. Of one
// ExternalAuth, 512 requests are with the service at a time.
func (e *ExternalAuth) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		granted := e.admit(w, r)
		if granted == nil {
			return
		}
		e.counts.passed.Add(1)
		telemetry.RecordFrom(r.Context()).Authenticated = true
		granted.serve(w, r, next)
	})
}

// admit asks about a request. It returns nil when the request has been answered.
func (e *ExternalAuth) admit(w http.ResponseWriter, r *http.Request) *grant {
	var body []byte
	if e.settings.maxBody > 0 {
		var err error
		body, err = authorize.ReadBody(r, e.settings.maxBody)
		if errors.Is(err, authorize.ErrTooLarge) {
			e.counts.refused.Add(1)
			answer.Refuse(w, r, http.StatusRequestEntityTooLarge, e.name,
				"the request's body is larger than maxBodySize, "+strconv.FormatInt(e.settings.maxBody, 10))
			return nil
		}
		if err != nil {
			answer.UnreadableBody(w, r, e.name, err)
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	decided, err := e.ask(ctx, r, body)
	switch {
	case err != nil:
		e.fail(ctx, w, r, err)
		return nil
	case decided.grant != nil:
		return decided.grant
	}
	e.counts.refused.Add(1)
	decided.denial.send(w, r, e.name)
	return nil
}

// ask waits for a slot, and asks about a request. A client that reads a refusal slowly has no slot.
func (e *ExternalAuth) ask(ctx context.Context, r *http.Request, body []byte) (*verdict, error) {
	if err := e.slots.Acquire(ctx); err != nil {
		return nil, err
	}
	defer e.slots.Release()
	return e.asker.ask(ctx, r, body)
}

// fail answers a request about which no usable answer came, unless the client has left.
func (e *ExternalAuth) fail(ctx context.Context, w http.ResponseWriter, r *http.Request, err error) {
	ended := r.Context().Err()
	if ended == nil || errors.Is(ended, context.DeadlineExceeded) {
		e.counts.failed.Add(1)
	}
	switch {
	case ended != nil:
		answer.Leave(w, r, e.name, "the authorization service answered")
	case ctx.Err() != nil:
		answer.Refuse(w, r, http.StatusForbidden, e.name,
			"the authorization service did not answer within "+timeout.String())
	default:
		answer.Refuse(w, r, http.StatusForbidden, e.name, "asking the authorization service: "+err.Error())
	}
}

// send hands the client the refusal.
func (d *denial) send(w http.ResponseWriter, r *http.Request, name string) {
	answer.Note(r, name, "the authorization service answered with "+strconv.Itoa(d.status))
	for field, values := range d.header {
		w.Header()[field] = append(w.Header()[field], values...)
	}
	empty := d.status == http.StatusNoContent || d.status == http.StatusNotModified
	if !empty && r.Method != http.MethodHead {
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(d.body))}
	}
	w.WriteHeader(d.status)
	if !empty && r.Method != http.MethodHead {
		_, _ = w.Write(d.body) // The server reports it when the client has left.
	}
}
