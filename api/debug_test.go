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
		{"/debug/pprof/cmdline", 404, "profile not found"},
		{"/debug/pprof/none", 404, "profile not found"},
		{"/debug/pprof/trace?seconds=0.01", 200, "go 1."},
		{"/debug/requests", 404, "not found"},
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

// Go's own handlers watch the process for their default time where they cannot read how long they should.
func TestDebugRefusesWrongTimes(t *testing.T) {
	handler := New(sampleOptions())
	const whole, parts = "seconds is not a whole number from 1 to 300\n",
		"seconds is not a number above 0, and 300 at most\n"
	for _, seconds := range []string{
		"0", "-1", "301", "1e9", "99999999999999999999", "NaN", "Inf", "-Inf", "ten", "1s",
		"", "%201", "0x", "-0.5",
	} {
		for path, want := range map[string]string{"profile": whole, "heap": whole, "goroutine": whole, "trace": parts} {
			refuses(t, handler, "/debug/pprof/"+path+"?seconds="+seconds, want)
		}
	}
	for _, fraction := range []string{"0.5", "1.5", "1e1", "0x1p1"} {
		refuses(t, handler, "/debug/pprof/profile?seconds="+fraction, whole)
		refuses(t, handler, "/debug/pprof/allocs?seconds="+fraction, whole)
	}
	for _, path := range []string{"profile", "heap", "trace"} {
		refuses(t, handler, "/debug/pprof/"+path+"?seconds=%zz", "the query cannot be read\n")
		refuses(t, handler, "/debug/pprof/"+path+"?x;seconds=1", "the query cannot be read\n")
	}
	refuses(t, handler, "/debug/pprof/threadcreate?seconds=ten", whole)
}

func refuses(t *testing.T, handler http.Handler, path, want string) {
	t.Helper()
	if answer := ask(t, handler, http.MethodGet, path); answer.Code != http.StatusBadRequest ||
		answer.Body.String() != want {
		t.Errorf("%s: %d %.100q, want 400 and %q", path, answer.Code, answer.Body, want)
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
