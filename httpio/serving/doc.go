// Package serving has what the servers of all versions of HTTP have in common below an http.Handler: the [Guard] that
// keeps late calls from a request that is over, the [Context] of a request, and what a handler may attach to it
// ([RequestState], [Completion]).
package serving

import "errors"

// ErrFinished is what calls on a ResponseWriter or a request's body return after the handler has returned.
var ErrFinished = errors.New("http: the request is over: its handler has returned")
