package api

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
)

func TestDebug(t *testing.T) {
	handler := New(sampleOptions())
	tests := []struct {
		path   string
		status int
		body   string
	}{
		{"/debug/vars", 200, `"memstats"`},
		{"/debug/pprof/", 200, "goroutine "},
		{"/debug/pprof", 200, "heap "},
		{"/debug/pprof/goroutine?debug=1", 200, "goroutine profile"},
		{"/debug/pprof/heap?debug=1", 200, "heap profile"},
		{"/debug/pprof/symbol", 200, "num_symbols"},
		{"/debug/pprof/cmdline", 404, "there is no such profile"},
		{"/debug/pprof/none", 404, "there is no such profile"},
		{"/debug/pprof/profile?seconds=301", 400, "seconds is not a number from 0 to 300"},
		{"/debug/pprof/trace?seconds=NaN", 400, "seconds is not a number from 0 to 300"},
		{"/debug/pprof/heap?seconds=1e9", 400, "seconds is not a number from 0 to 300"},
		{"/debug/requests", 404, "there is nothing"},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			answer := ask(t, handler, http.MethodGet, test.path)
			if answer.Code != test.status || !strings.Contains(answer.Body.String(), test.body) {
				t.Errorf("answer = %d %.200s, want %d and %q", answer.Code, answer.Body, test.status, test.body)
			}
		})
	}
}

func TestDebugNeverShowsTheCommandLine(t *testing.T) {
	handler := New(sampleOptions())
	var variables map[string]any
	answer := ask(t, handler, http.MethodGet, "/debug/vars")
	if err := json.Unmarshal(answer.Body.Bytes(), &variables); err != nil {
		t.Fatal(err)
	}
	if variables["cmdline"] != nil {
		t.Errorf("the command line is shown: %v", variables["cmdline"])
	}
	// The binary of a test is named in its command line alone.
	for _, path := range []string{"/debug/vars", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/symbol"} {
		if body := ask(t, handler, http.MethodGet, path).Body.String(); strings.Contains(body, os.Args[0]) {
			t.Errorf("%s shows the command line: %.300s", path, body)
		}
	}
}

func TestDebugIsOff(t *testing.T) {
	options := sampleOptions()
	options.Static.API.Debug = false
	for _, path := range []string{"/debug/vars", "/debug/pprof/", "/debug/pprof/heap"} {
		if answer := ask(t, New(options), http.MethodGet, path); answer.Code != http.StatusNotFound {
			t.Errorf("%s = %d", path, answer.Code)
		}
	}
}
