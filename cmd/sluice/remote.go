package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/router"
)

// maxAnswer bounds an answer of the API, in bytes.
const maxAnswer = 64 << 20

// questionQuery puts a question into the query of /api/explain.
func questionQuery(question router.Question) url.Values {
	query := url.Values{"method": {question.Method}, "url": {question.URL}}
	if question.EntryPoint != "" {
		query.Set("entrypoint", question.EntryPoint)
	}
	if question.Client != "" {
		query.Set("client", question.Client)
	}
	for name, values := range question.Header {
		for _, value := range values {
			query.Add("header", name+": "+value)
		}
	}
	return query
}

// askAPI asks a running Sluice. base is the URL of its API with or without /api.
func askAPI(base, path string, query url.Values, answer any) error {
	target := strings.TrimSuffix(strings.TrimRight(base, "/"), "/api") + "/api/" + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	ctx, cancel := context.WithTimeout(context.Background(), firstState)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return err
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", target, response.Status, strings.TrimSpace(string(body)))
	}
	return json.Unmarshal(body, answer)
}
