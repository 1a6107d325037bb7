package api

import (
	"net/http"
	"net/url"
	"strings"
)

// ExplainRequest is a request whose routing is to be explained. It is not sent.
type ExplainRequest struct {
	// Method is the method; empty means GET.
	Method string
	// URL is scheme://host/path?query.
	URL string
	// Header holds the request headers.
	Header http.Header
	// EntryPoint is the name of the entrypoint; empty means the one that matches the URL.
	EntryPoint string
	// Client is the client's address; empty means 127.0.0.1.
	Client string
}

// Explainer reports which router serves a request, and why.
type Explainer interface {
	// Explain returns a value that is encoded as JSON, or an error if the request is invalid.
	Explain(request ExplainRequest) (any, error)
}

func explain(w http.ResponseWriter, r *http.Request, explainer Explainer, write func(http.ResponseWriter, int, any)) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		write(w, http.StatusBadRequest, Problem{Message: "query: " + err.Error()})
		return
	}
	question := ExplainRequest{
		Method:     query.Get("method"),
		URL:        query.Get("url"),
		Header:     http.Header{},
		EntryPoint: query.Get("entrypoint"),
		Client:     query.Get("client"),
	}
	if question.Method == "" {
		question.Method = http.MethodGet
	}
	if question.URL == "" {
		write(w, http.StatusBadRequest, Problem{Message: "query: url is missing"})
		return
	}
	for _, line := range query["header"] {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			write(w, http.StatusBadRequest, Problem{Message: "query: header is not of the form NAME: VALUE"})
			return
		}
		question.Header.Add(name, strings.TrimSpace(value))
	}
	answer, err := explainer.Explain(question)
	if err != nil {
		write(w, http.StatusBadRequest, Problem{Message: err.Error()})
		return
	}
	write(w, http.StatusOK, answer)
}
