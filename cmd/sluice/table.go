package main

import (
	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/router"
)

// table answers the API's questions from the table that serves.
type table struct{ target *router.Switch }

// Explain explains a request.
func (t table) Explain(request api.ExplainRequest) (any, error) {
	return t.target.Table().Explain(router.Question{
		Method: request.Method, URL: request.URL, Header: request.Header,
		EntryPoint: request.EntryPoint, Client: request.Client,
	})
}

// Routes lists the effective table.
func (t table) Routes() any { return t.target.Table().Routes() }
