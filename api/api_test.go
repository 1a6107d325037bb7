package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// fixed is a State that never changes.
type fixed struct{ state *pipeline.State }

func (f fixed) State() *pipeline.State { return f.state }

// served answers like a router's table.
type served struct {
	questions   []router.Question
	connections []router.ConnectionQuestion
}

func (t *served) ExplainConnection(question router.ConnectionQuestion) (any, error) {
	t.connections = append(t.connections, question)
	if question.Address == "bad" {
		return nil, errors.New("bad has no port")
	}
	return router.ConnectionExplanation{EntryPoint: "web", Answer: "tcp", Steps: []string{"a step"}}, nil
}

func (t *served) Explain(request router.Question) (any, error) {
	t.questions = append(t.questions, request)
	if request.URL == "bad" {
		return nil, errors.New("bad has no host")
	}
	return map[string]string{"router": "a@file", "rule": "Host(`a`) && PathPrefix(`/`)"}, nil
}

func (t *served) Routes() any { return []string{"a@file"} }

func (t *served) Middlewares() any { return []string{"m@file"} }

func ask(t testing.TB, handler http.Handler, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody))
	return recorder
}

func TestAPI(t *testing.T) {
	all := &served{}
	state := fixed{&pipeline.State{Ready: true}}
	tests := []struct {
		name    string
		options Options
		method  string
		target  string
		status  int
		body    string
	}{
		{
			"explain",
			Options{Explain: all.Explain},
			"GET", "/api/explain?url=http://a/", 200,
			"{\"router\":\"a@file\",\"rule\":\"Host(`a`) && PathPrefix(`/`)\"}",
		},
		{
			"explain without a URL",
			Options{Explain: all.Explain},
			"GET", "/api/explain", 400,
			`{"message":"query: url is missing"}`,
		},
		{
			"explain a bad URL",
			Options{Explain: all.Explain},
			"GET", "/api/explain?url=bad", 400,
			`{"message":"bad has no host"}`,
		},
		{
			"explain with a bad header",
			Options{Explain: all.Explain},
			"GET", "/api/explain?url=x&header=Host", 400,
			`{"message":"query: header is not of the form NAME: VALUE"}`,
		},
		{
			"explain with a bad query",
			Options{Explain: all.Explain},
			"GET", "/api/explain?url=%zz", 400,
			`{"message":"query: invalid URL escape \"%zz\""}`,
		},
		{
			"explain by POST",
			Options{Explain: all.Explain},
			"POST", "/api/explain?url=http://a/", 405,
			`{"message":"the API is read-only"}`,
		},
		{
			"explain without an explainer",
			Options{},
			"GET", "/api/explain?url=http://a/", 404,
			`{"message":"not found: /api/explain"}`,
		},
		{"routes", Options{Routes: all.Routes}, "GET", "/api/routes", 200, `["a@file"]`},
		{"middlewares", Options{Middlewares: all.Middlewares}, "GET", "/api/middlewares", 200, `["m@file"]`},
		{"routes by DELETE", Options{Routes: all.Routes}, "DELETE", "/api/routes", 405, `{"message":"the API is read-only"}`},
		{
			"routes under a base path",
			Options{Routes: all.Routes, BasePath: "/sluice/"},
			"GET", "/sluice/api/routes", 200,
			`["a@file"]`,
		},
		{
			"not under another one",
			Options{Routes: all.Routes, BasePath: "/sluice"},
			"GET", "/api/routes", 404,
			`{"message":"not found: /api/routes"}`,
		},
		{
			"ready",
			Options{},
			"GET", "/api/ready", 200,
			`{"ready":true,"generation":0,"ageSeconds":0,"providers":[],"quarantined":0,"retained":0,"verdicts":[]}`,
		},
		{"something else", Options{}, "GET", "/api/%3Cscript%3E", 404, `{"message":"not found: /api/%3Cscript%3E"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.options.State, test.options.Logger = state, telemetry.Discard{}
			answer := ask(t, New(test.options), test.method, test.target)
			if answer.Code != test.status {
				t.Errorf("status = %d, want %d", answer.Code, test.status)
			}
			if diff := cmp.Diff(test.body+"\n", answer.Body.String()); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if allow := answer.Header().Get("Allow"); test.status == http.StatusMethodNotAllowed && allow != "GET, HEAD" {
				t.Errorf("Allow = %q", allow)
			}
			if kind := answer.Header().Get("Content-Type"); kind != "application/json" {
				t.Errorf("Content-Type = %q", kind)
			}
		})
	}
}

func TestExplainQuestion(t *testing.T) {
	all := &served{}
	handler := New(Options{State: fixed{}, Explain: all.Explain, Logger: telemetry.Discard{}})
	ask(t, handler, http.MethodGet,
		"/api/explain?method=POST&url=https://a.example/x%3Fy&entrypoint=web&client=192.0.2.1&header=X-A:+1&header=x-a:2&header=Host:b:1")
	ask(t, handler, http.MethodGet, "/api/explain?url=http://a/")
	want := []router.Question{
		{
			Method: "POST", URL: "https://a.example/x?y", EntryPoint: "web", Client: "192.0.2.1",
			Header: http.Header{"X-A": {"1", "2"}, "Host": {"b:1"}},
		},
		{Method: "GET", URL: "http://a/", Header: http.Header{}},
	}
	if diff := cmp.Diff(want, all.questions); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
}

func TestExplainConnection(t *testing.T) {
	all := &served{}
	handler := New(Options{State: fixed{}, ExplainConnection: all.ExplainConnection, Logger: telemetry.Discard{}})
	const full = "?address=:5432&sni=db.test&alpn=a&alpn=b&client=192.0.2.1&entrypoint=db&tls=true&starttls=false"
	for query, status := range map[string]int{full: 200, "?address=bad": 400, "?tls=perhaps": 400, "?%zz": 400} {
		if answer := ask(t, handler, http.MethodGet, "/api/explain/tcp"+query); answer.Code != status {
			t.Errorf("%s: got %d %s", query, answer.Code, answer.Body)
		}
	}
	want := router.ConnectionQuestion{
		Address: ":5432", ServerName: "db.test", Protocols: []string{"a", "b"}, Client: "192.0.2.1", EntryPoint: "db",
		TLS: true,
	}
	if !slices.ContainsFunc(all.connections, func(got router.ConnectionQuestion) bool { return cmp.Equal(want, got) }) {
		t.Errorf("questions %+v, want %+v", all.connections, want)
	}
}

func TestAnswerThatIsNoJSON(t *testing.T) {
	answer := ask(t, New(Options{State: fixed{}, Routes: func() any {
		return func() {}
	}, Logger: telemetry.Discard{}}), http.MethodGet,
		"/api/routes")
	if answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body.String(), "cannot be written") {
		t.Errorf("answer = %d %s", answer.Code, answer.Body)
	}
}

func TestPing(t *testing.T) {
	ready, notReady := &pipeline.State{Ready: true}, &pipeline.State{}
	tests := []struct {
		name     string
		state    *pipeline.State
		draining bool
		code     int
		method   string
		path     string
		status   int
		body     string
	}{
		{"alive", notReady, false, 0, "GET", "/ping", 200, "OK"},
		{"alive by HEAD", notReady, false, 0, "HEAD", "/ping", 200, "OK"},
		{"alive by POST", notReady, false, 0, "POST", "/ping", 405, "read-only"},
		{"draining", ready, true, 0, "GET", "/ping", 503, "Service Unavailable"},
		{"draining with a status of its own", ready, true, 418, "GET", "/ping", 418, "I'm a teapot"},
		{"ready", ready, false, 0, "GET", "/ready", 200, `"ready":true`},
		{"ready elsewhere", ready, false, 0, "GET", "/probes/ready", 200, `"ready":true`},
		{"not ready", notReady, false, 0, "GET", "/ready", 503, `"ready":false`},
		{"ready, but draining", ready, true, 0, "GET", "/ready", 503, `{"ready":false,"draining":true`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ping := NewPing(fixed{test.state}, test.code, telemetry.Discard{})
			if test.draining {
				ping.Drain()
			}
			answer := ask(t, ping, test.method, test.path)
			if answer.Code != test.status || !strings.Contains(answer.Body.String(), test.body) {
				t.Errorf("answer = %d %q, want %d %q", answer.Code, answer.Body, test.status, test.body)
			}
		})
	}
}

func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		timer := time.NewTimer(1500 * time.Millisecond)
		<-timer.C
		verdict := dynamic.Verdict{
			Ref:    dynamic.Ref{Kind: dynamic.KindRouter, Name: "r@file"},
			Origin: dynamic.Origin{File: "f.yaml", Line: 7},
			Status: dynamic.Quarantined,
			Reason: `service "s@file" does not exist`,
		}
		degraded := verdict
		degraded.Ref.Name, degraded.Status = "d@file", dynamic.Degraded
		report := NewReadiness(&pipeline.State{
			Generation: 3,
			Activated:  begin.Add(time.Second),
			Providers: map[string]provider.Status{
				"file":   {State: dynamic.StateSynced, Since: begin, LastMessage: begin, Required: true},
				"docker": {State: dynamic.StateTimedOut, Reason: "no first state within 10s", Since: begin, Required: true},
			},
			State: provider.State{Verdicts: []dynamic.Verdict{degraded, verdict}},
		})
		got, err := json.MarshalIndent(report, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		want := `{
 "ready": false,
 "generation": 3,
 "ageSeconds": 0.5,
 "providers": [
  {
   "name": "docker",
   "state": "timed out",
   "required": true,
   "reason": "no first state within 10s",
   "ageSeconds": 1.5
  },
  {
   "name": "file",
   "state": "synced",
   "required": true,
   "ageSeconds": 1.5,
   "lastMessageSeconds": 1.5
  }
 ],
 "quarantined": 1,
 "retained": 0,
 "verdicts": [
  {
   "kind": "router",
   "name": "d@file",
   "status": "degraded",
   "code": "Degraded",
   "reason": "service \"s@file\" does not exist",
   "origin": "f.yaml:7"
  },
  {
   "kind": "router",
   "name": "r@file",
   "status": "quarantined",
   "code": "Quarantined",
   "reason": "service \"s@file\" does not exist",
   "origin": "f.yaml:7"
  }
 ]
}`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
	})
}

func TestReadinessIsBounded(t *testing.T) {
	report := NewReadiness(&pipeline.State{State: provider.State{Verdicts: make([]dynamic.Verdict, 1000)}})
	if len(report.Verdicts) != maxVerdicts || report.MoreVerdicts != 1000-maxVerdicts {
		t.Errorf("%d verdicts and %d more", len(report.Verdicts), report.MoreVerdicts)
	}
}
