package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// administrated is the API of a running Sluice with canned answers, and what it was asked for last.
func administrated(t *testing.T) (address string, last *string) {
	t.Helper()
	last = new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, _, _ := r.BasicAuth()
		*last = user + " " + r.Method + " " + r.URL.String() + " " + r.Header.Get("Content-Type") + " " + string(body)
		answers := map[string]string{
			"GET /api/endpoints": `[{"address": "192.0.2.1:80", "inFlight": 3, "pools": [
				{"protocol": "http", "service": "web@file", "state": "draining", "reason": "it is drained by hand"},
				{"protocol": "tcp", "service": "db@file", "state": "serving", "share": 0.5}]}]`,
			"POST /api/admin/drains":            `{"endpoint": "192.0.2.1:80", "since": "2026-11-28T12:00:00Z", "endpoints": 2}`,
			"DELETE /api/admin/drains":          `[{"protocol": "http", "service": "web@file", "since": "2026-11-28T12:00:00Z"}]`,
			"GET /api/admin/log":                `[{"subsystem": "main", "level": "INFO", "configured": "INFO"}]`,
			"PUT /api/admin/log":                `[{"subsystem": "xds", "level": "DEBUG", "configured": "INFO"}]`,
			"GET /api/connections":              `[{"id": 7, "entryPoint": "web", "protocol": "h2", "client": "192.0.2.9", "clientPort": "1"}]`,
			"POST /api/admin/connections/close": `{"closed": 3, "closing": 2, "remaining": 1}`,
		}
		answer, known := answers[r.Method+" "+r.URL.Path]
		var wanted struct{ Endpoint, Client string }
		_ = json.Unmarshal(body, &wanted)
		switch {
		case wanted.Endpoint == "192.0.2.9:80":
			w.WriteHeader(http.StatusConflict)
			answer = `{"message": "no endpoint would be left"}`
		case wanted.Client == "192.0.2.9":
			w.WriteHeader(http.StatusMethodNotAllowed)
			answer = `{"message": "the API is read-only"}`
		case !known:
			w.WriteHeader(http.StatusNotFound)
			answer = `{"message": "not found"}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http://", "http://ann:hunter2@", 1), last
}

// TestAdministration sends the requests of the commands that change a running Sluice.
func TestAdministration(t *testing.T) {
	address, last := administrated(t)
	const sent = "application/json "
	tests := []struct {
		args    string
		code    int
		request string // the last one
		says    string // a part of the output, or of the error
	}{
		{"endpoints", 0, "GET /api/endpoints?page=1&per_page=1000", "tcp db@file  192.0.2.1:80  serving   50.0%  3"},
		{"endpoints --service web@file", 0, "", "web@file  192.0.2.1:80  draining  0.0%   3          it is drained by hand"},
		{"endpoints DB --json", 0, "", `"service": "db@file"`},
		{"endpoints none", 1, "", "none of 1 endpoints is selected"},
		{
			"endpoints drain 192.0.2.1:80 --for 10m --force", 0,
			"POST /api/admin/drains " + sent + `{"endpoint":"192.0.2.1:80","for":"10m0s","force":true}`,
			"drained: 192.0.2.1:80 of all services, 2 of services, until sluice endpoints undrain",
		},
		{"endpoints drain 192.0.2.9:80", 1, "", "no endpoint would be left"},
		{"endpoints drain", 2, "", "name an endpoint, a service with --service, or both"},
		{"endpoints drain 192.0.2.1:80 --for 0s", 2, "", "--for is not above 0"},
		{
			"endpoints undrain --service web@file --protocol http", 0,
			"DELETE /api/admin/drains " + sent + `{"protocol":"http","service":"web@file"}`,
			"ended: every endpoint of http service web@file",
		},
		{"log-level", 0, "GET /api/admin/log", "main       INFO   INFO        -"},
		{
			"log-level xds debug --for 1h", 0,
			"PUT /api/admin/log " + sent + `{"subsystem":"xds","level":"debug","for":"1h0m0s"}`, "xds        DEBUG  INFO",
		},
		{"log-level debug", 0, "PUT /api/admin/log " + sent + `{"level":"debug"}`, ""},
		{"log-level --for 1h", 2, "", "--for needs a level"},
		{"log-level debug --for -1h", 2, "", "--for -1h0m0s is not above 0"},
		{"connections --client 192.0.2.9", 0, "GET /api/connections?client=192.0.2.9&page=1&per_page=1000", "7   web         h2"},
		{
			"connections close 7 --graceful", 0, "POST /api/admin/connections/close " + sent + `{"id":7,"graceful":true}`,
			"closed: 3, ending with a response: 2, remaining: 1 of TCP routers or with an upgrade",
		},
		{"connections close", 2, "", "name the ID of a connection, --client or --entrypoint"},
		{"connections close web", 2, "", `"web" is not the ID of a connection`},
		{"connections close --client 192.0.2.9", 1, "", "admin@internal, which exists with api.admin"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			var stdout, stderr strings.Builder
			code := run(append(strings.Fields(test.args), "--api", address), nil, &stdout, &stderr)
			said := stdout.String() + stderr.String()
			if code != test.code || !strings.Contains(said, test.says) {
				t.Errorf("exit code %d: %s", code, said)
			}
			if !strings.HasPrefix(strings.Replace(*last, "  ", " ", 1), "ann "+test.request) {
				t.Errorf("it requests %q", *last)
			}
			if strings.Contains(said, "hunter2") {
				t.Errorf("%q holds a secret", said)
			}
		})
	}
}
