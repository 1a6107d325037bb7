// Package middleware makes the steps that a request passes between its route and its service.
//
// In flows the definition of one middleware, as an operator declared it; out flows a [Middleware], which the router's
// compiler wraps around the handler of each router that names it. Each kind is a package of its own with the same
// file names: README.md describes it with a configuration that its test loads, New(name, config) checks the
// definition once, and Wrap is called per router. [Kinds] is the table of all of them, from which Build, the guards
// of the API and the documentation derive. State survives every reload that leaves the definition alone: it lives
// with the object that New returns, or, where each router has its own, with the step that [Scoped] returns. What
// kinds share (answers, writers, sources, users, patterns, TLS) has packages of its own, and files that a definition
// names are read through [Files].
//
// A middleware changes a path only through canonical.SetPath, sets no header that a client could forge by another
// spelling, and never knows routes, services or providers. One whose handlers keep no part of a request once they
// have returned declares it by the method NoRetain, so that the router has the memory used again; one that hands a
// request to another goroutine must not. It edits the request in place; what needs the request as it was received
// reads it before.
//
// A new kind takes three places: its options as a field of dynamic.Middleware, its folder here, and its line in
// [Kinds]; and a fourth, its type and field in provider/kubernetes/crd/v1alpha1, for manifests. The rest derives from
// them, by "make generate".
package middleware

import (
	"errors"
	"net/http"

	"github.com/sluiceproxy/sluice/middleware/guard"
)

// Middleware is one configured step on the way of a request. It is safe for concurrent use.
type Middleware interface {
	// Wrap returns a handler that does the step's work and, unless it answers itself, calls next. It is called once
	// per router.
	Wrap(next http.Handler) http.Handler
}

// Scoped is a Middleware that keeps its state apart for each router, and each service, that lists it. It is not
// wrapped itself.
type Scoped interface {
	Middleware
	// For returns the step with the state of one owner, such as "router web@file". It is called once for each place
	// in the owner's chain, and the value lives as long as the owner lists the middleware and its definition does not
	// change, over all reloads. A definition that is shared returns the same step for all owners.
	For(owner string) interface {
		Wrap(next http.Handler) http.Handler
	}
}

// Guard is a Middleware that can decide who gets in.
type Guard interface {
	// Guards returns when it does. The value depends on the definition alone.
	Guards() guard.Access
}

// Starter is a Middleware that opens something beyond memory, such as connections. Its constructor only validates and
// builds. Start is called once, before the first request, when the table that uses it begins to serve, and never for
// a table that does not.
type Starter interface{ Start() }

// Closer is a Middleware that holds something beyond memory once it serves. Close is called once, when the table that
// serves does not use it any more, and never for one that has not served; requests that are still in it come to their
// end.
type Closer interface{ Close() }

// Warner is a Middleware whose definition has options without effect.
type Warner interface {
	// Warnings returns one sentence for each, which is shown with the verdict on the middleware.
	Warnings() []string
}

// Counter is a Middleware that counts what it does.
type Counter interface {
	// Counts returns the counts since the start by their names, as the API and the metrics show them.
	Counts() map[string]uint64
}

// UnsupportedError says that a definition is known and can't be put to work yet. What it would have done may be what
// protects a service, so routers that depend on it are disabled.
type UnsupportedError struct {
	// Option is the kind, such as "plugin".
	Option string
}

// Error returns "OPTION is not supported yet".
func (e *UnsupportedError) Error() string { return e.Option + " is not supported yet" }

// ErrChain is Build's answer to a chain, which is not a step of its own: the router's compiler puts its members in
// its place.
var ErrChain = errors.New("chain is a list of middlewares, not one")
