package main

import (
	"slices"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/router"
)

// table answers the API's questions from the table that serves, and from what its middlewares keep.
type table struct{ system *system }

// Explain explains a request.
func (t table) Explain(request api.ExplainRequest) (any, error) {
	return t.system.target.Table().Explain(router.Question{
		Method: request.Method, URL: request.URL, Header: request.Header,
		EntryPoint: request.EntryPoint, Client: request.Client,
	})
}

// Routes lists the effective table.
func (t table) Routes() any { return t.system.target.Table().Routes() }

// Middlewares lists what middlewares have counted and hold. It is never nil.
func (t table) Middlewares() any {
	return append([]router.MiddlewareStanding{}, slices.Collect(t.system.compiler.Middlewares())...)
}
