// Package middleware is what happens to a request between its route and its service.
//
// What flows in: the definition of one middleware, as an operator declared it. What flows out: a [Middleware], which the router's
// compiler wraps around the handler of each router that names it. Each kind is a package of its own with the same file names:
// README.md says what it does and shows a configuration that its test loads, New(name, config) checks the definition once, and Wrap
// is called per router. State survives every reload that leaves the definition alone: it lives with the object that New returns, or, where
// each router has its own, with the step that [Scoped] returns. What kinds share (answers, writers, sources, users, patterns, TLS) has
// packages of its own, and files that a definition names are read through [Files].
//
// A middleware changes a path only through canonical.SetPath, sets no header that a client could forge by another spelling, and
// never knows routes, services or providers. One whose handlers keep no part of a request once they have returned says so with a method
// KeepsNothing, which lets the router have the memory used again; one that hands a request to another goroutine must not. It edits the request in place: who needs what was received reads it before.
package middleware

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Middleware is one configured step on the way of a request. It is safe for concurrent use.
type Middleware interface {
	// Wrap returns a handler that does the step's work and, unless it answers itself, calls next. It is called once per router.
	Wrap(next http.Handler) http.Handler
}

// Scoped is a Middleware that keeps its state apart for each router, and each service, that lists it. It is not wrapped itself.
type Scoped interface {
	Middleware
	// For returns the step with the state of one owner, such as "router web@file". It is called once for each place in the owner's
	// chain, and the value lives as long as the owner lists the middleware and its definition does not change, over all reloads.
	// A definition that is shared returns the same step for everybody.
	For(owner string) interface {
		Wrap(next http.Handler) http.Handler
	}
}

// Closer is a Middleware that holds something beyond memory. Close is called once, when the table that serves does not use it any more;
// requests that are still in it come to their end.
type Closer interface{ Close() }

// UnsupportedError says that a definition is known and can't be put to work yet. What it would have done may be what protects a
// service, so routers that depend on it are disabled.
type UnsupportedError struct {
	// Option is the kind, such as "plugin".
	Option string
}

// Error returns "OPTION is not supported yet".
func (e *UnsupportedError) Error() string { return e.Option + " is not supported yet" }

// ErrChain is Build's answer to a chain, which is not a step of its own: the router's compiler puts its members in its place.
var ErrChain = errors.New("chain is a list of middlewares, not one")

// Chain returns the names that a chain lists, in order and as written. It is not ok for another kind.
func Chain(config *dynamic.Middleware) (names []string, ok bool) {
	if config == nil || config.Chain == nil {
		return nil, false
	}
	return config.Chain.Middlewares, true
}

// Kind returns the one kind that a definition sets.
func Kind(config *dynamic.Middleware) (string, error) {
	switch kinds := Kinds(config); len(kinds) {
	case 0:
		return "", errors.New("no kind of middleware is set")
	case 1:
		return kinds[0], nil
	default:
		return "", fmt.Errorf("one kind of middleware is wanted, but %s are set", strings.Join(kinds, ", "))
	}
}

// Kinds returns the names of the kinds that a definition sets, as they are spelled in files. A definition that works has one.
func Kinds(config *dynamic.Middleware) []string {
	if config == nil {
		return nil
	}
	var kinds []string
	value := reflect.ValueOf(*config)
	for i := range value.NumField() {
		if field := value.Field(i); field.IsNil() {
			continue
		}
		kind, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		kinds = append(kinds, kind)
	}
	return kinds
}
