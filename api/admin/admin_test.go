package admin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/api/admin"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endpoints drain those of shop@file, of which 192.0.2.9:80 is the last one.
type endpoints struct{ drains []loadbalancer.Drain }

func (e *endpoints) Drain(drain loadbalancer.Drain, force bool) (int, error) {
	switch {
	case drain.Service != "" && drain.Service != "shop@file":
		return 0, loadbalancer.ErrNotBalanced
	case drain.Endpoint == netip.MustParseAddrPort("192.0.2.9:80") && !force:
		return 1, &loadbalancer.LastEndpointError{Pools: []string{"shop@file"}}
	case drain.Endpoint == netip.MustParseAddrPort("192.0.2.8:80"):
		return 0, loadbalancer.ErrTooManyDrains
	}
	drain.Unserved = []string{"shop@file", "tcp:db@file"}
	e.drains = append(e.drains, drain)
	return 2, nil
}

func (e *endpoints) Undrain(selector loadbalancer.DrainSelector) (ended []loadbalancer.Drain) {
	e.drains = slices.DeleteFunc(e.drains, func(drain loadbalancer.Drain) bool {
		ends := drain.DrainSelector == selector
		if ends {
			ended = append(ended, drain)
		}
		return ends
	})
	return ended
}

func (e *endpoints) Drains() []loadbalancer.Drain { return e.drains }

// closer closes 7 of 12 connections of web, and that with ID 3.
type closer struct{}

func (closer) CloseConnections(_ context.Context, selection entrypoint.Selection, graceful bool,
) entrypoint.ClosedConnections {
	switch {
	case selection.Entrypoint == "web" && selection.Client == netip.MustParsePrefix("192.0.2.0/24") && graceful:
		return entrypoint.ClosedConnections{Closed: 7, Closing: 3, Remaining: 2}
	case selection == entrypoint.Selection{ID: 3}:
		return entrypoint.ClosedConnections{Closed: 1}
	}
	return entrypoint.ClosedConnections{}
}

// setup is an administration with its log.
type setup struct {
	t       *testing.T
	handler http.Handler
	log     *strings.Builder
	close   func()
}

func start(t *testing.T) *setup {
	t.Helper()
	lines := new(strings.Builder)
	logs, err := log.New(static.Log{}, log.Options{Output: lines})
	if err != nil {
		t.Fatal(err)
	}
	s := &setup{t: t, log: lines, close: func() { _ = logs.Close() }}
	s.handler = admin.New(admin.Options{
		Endpoints: &endpoints{}, Levels: logs, Connections: closer{}, Logger: logs.For(log.SubsystemAPI),
		Audit: logs.Audit(log.SubsystemAPI), BasePath: "/sluice/",
	})
	t.Cleanup(s.close)
	return s
}

// send sends a request with a JSON body.
func (s *setup) send(method, path, body string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	record := &telemetry.Record{Client: "192.0.2.7", Username: "ann", Authenticated: true}
	r := httptest.NewRequestWithContext(telemetry.WithRecord(s.t.Context(), record), method,
		"http://sluice.test/sluice/api/admin/"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder) (value T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil {
		t.Fatalf("status %d: %v: %s", w.Code, err, w.Body)
	}
	return value
}

// TestRequestsAreChecked refuses what a web page could send, and what is not understood.
func TestRequestsAreChecked(t *testing.T) {
	const valid = `{"endpoint": "192.0.2.1:80"}`
	tests := []struct {
		name, method, path, body, header string
		status                           int
		message                          string
	}{
		{"a program", "POST", "drains", valid, "", 200, ""},
		{"the address bar", "GET", "drains", "", "Sec-Fetch-Site: none", 200, ""},
		{"a page of another origin", "POST", "drains", valid, "Origin: http://evil.test", 403, ""},
		{"a page of the same origin", "POST", "drains", valid, "Origin: http://sluice.test", 403, ""},
		{"a page without an origin", "POST", "drains", valid, "Origin: null", 403, ""},
		{"a page that reads", "GET", "drains", "", "Sec-Fetch-Site: same-origin", 403, ""},
		{"a preflight", "OPTIONS", "drains", "", "Origin: http://evil.test", 403, ""},
		{"a form", "POST", "drains", valid, "Content-Type: application/x-www-form-urlencoded", 415, "not application/json"},
		{"text", "POST", "drains", valid, "Content-Type: text/plain", 415, "not application/json"},
		{"no type", "DELETE", "drains", valid, "Content-Type: ", 415, "not application/json"},
		{"a large body", "POST", "drains", `{"service": "` + strings.Repeat("a", api.MaxChange) + `"}`, "", 413, "too large"},
		{"a large rest", "POST", "drains", valid + strings.Repeat(" ", api.MaxChange), "", 413, "too large"},
		{"an unknown field", "POST", "drains", `{"address": "192.0.2.1:80"}`, "", 400, `unknown field "address"`},
		{"two objects", "POST", "drains", valid + valid, "", 400, "more behind"},
		{"no object", "POST", "drains", "", "", 400, "EOF"},
		{"a broken object", "POST", "drains", `{"endpoint`, "", 400, "body: unexpected EOF"},
		{"another method", "PUT", "drains", valid, "", 405, "does not take PUT"},
		{"another path", "GET", "drain", "", "", 404, "not found: /sluice/api/admin/drain"},
		{"nothing selected", "POST", "drains", `{}`, "", 400, "service and endpoint are both missing"},
		{"a service without provider", "POST", "drains", `{"service": "shop"}`, "", 400, "NAME@PROVIDER"},
		{"a protocol", "POST", "drains", `{"protocol": "h2", "service": "shop@file"}`, "", 400, `"h2" is none of http, tcp`},
		{"a name", "POST", "drains", `{"endpoint": "a.test:80"}`, "", 400, "not an IP address with a port"},
		{"a duration", "POST", "drains", `{"endpoint": "192.0.2.1:80", "for": "10"}`, "", 400, `"10" is not a duration above 0`},
		{"no duration", "POST", "drains", `{"endpoint": "192.0.2.1:80", "for": "0s"}`, "", 400, `"0s" is not a duration above 0`},
		{"a page of the list", "GET", "drains?page=0", "", "", 400, "page"},
		{"an unknown service", "POST", "drains", `{"service": "none@file"}`, "", 404, "no service has such endpoints"},
		{"the last endpoint", "POST", "drains", `{"endpoint": "192.0.2.9:80"}`, "", 409, "left to serve shop@file; force"},
		{"too many", "POST", "drains", `{"endpoint": "192.0.2.8:80"}`, "", 409, "10000 drains already"},
		{"no such drain", "DELETE", "drains", `{"endpoint": "192.0.2.2:80"}`, "", 404, "there is no such drain"},
		{"no level", "PUT", "log", `{"subsystem": "api"}`, "", 400, `log level "": not one of DEBUG`},
		{"an unknown level", "PUT", "log", `{"level": "loud"}`, "", 400, `log level "loud": not one of DEBUG`},
		{"an unknown subsystem", "PUT", "log", `{"subsystem": "web", "level": "INFO"}`, "", 400, `"web" does not exist`},
		{"a time of a level", "PUT", "log", `{"level": "INFO", "for": "-1m"}`, "", 400, `"-1m" is not a duration above 0`},
		{"levels by POST", "POST", "log", `{"level": "INFO"}`, "", 405, "does not take POST"},
		{"no connection selected", "POST", "connections/close", `{"graceful": true}`, "", 400, "all missing"},
		{"a client", "POST", "connections/close", `{"client": "a.test"}`, "", 400, `"a.test" is neither`},
		{"no such connection", "POST", "connections/close", `{"id": 4}`, "", 404, "there is no such connection"},
		{"a bad ID", "POST", "connections/close", `{"id": -4}`, "", 400, "body: json"},
		{"a list below the administration", "GET", "connections/close", "", "", 405, "does not take GET"},
		{"force without a meaning", "DELETE", "drains", `{"endpoint": "192.0.2.1:80", "force": true}`, "", 400, "no meaning"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t)
			var header []string
			if test.header != "" {
				header = append(header, test.header)
			}
			w := s.send(test.method, test.path, test.body, header...)
			if w.Code != test.status || !strings.Contains(w.Body.String(), strings.ReplaceAll(test.message, `"`, `\"`)) {
				t.Errorf("status %d with %s, want %d with %q", w.Code, w.Body, test.status, test.message)
			}
			if test.status == http.StatusForbidden && w.Body.Len() > 0 {
				t.Errorf("a page gets %s", w.Body)
			}
			if got := w.Header().Get("Allow"); (test.status == http.StatusMethodNotAllowed) != (got != "") {
				t.Errorf("Allow = %q", got)
			}
			if got := w.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control = %q", got)
			}
		})
	}
}

// TestAllow names the methods of a path where another one is refused.
func TestAllow(t *testing.T) {
	s := start(t)
	for path, want := range map[string]string{
		"drains": "GET, HEAD, POST, DELETE", "log": "GET, HEAD, PUT", "connections/close": "POST",
	} {
		if got := s.send("PATCH", path, "{}").Header().Get("Allow"); got != want {
			t.Errorf("%s allows %q, want %q", path, got, want)
		}
	}
}

// TestDrains begins, lists and ends drains, with a line of the log for each change.
func TestDrains(t *testing.T) {
	s := start(t)
	begun := decode[admin.Drain](t, s.send("POST", "drains", `{"service": "shop@file", "endpoint": "192.0.2.9:80",
		"for": "10m", "force": true}`))
	if begun.Until.Sub(begun.Since) != 10*time.Minute {
		t.Errorf("the drain lasts from %v until %v", begun.Since, begun.Until)
	}
	want := admin.Drain{
		Protocol: "http", Service: "shop@file", Endpoint: "192.0.2.9:80", Endpoints: 2,
		Since: begun.Since, Until: begun.Until,
	}
	if diff := cmp.Diff(want, begun); diff != "" {
		t.Errorf("begun (-want +got):\n%s", diff)
	}
	want.Endpoints = 0
	want.Unserved = []admin.Service{{Protocol: "http", Service: "shop@file"}, {Protocol: "tcp", Service: "db@file"}}
	if diff := cmp.Diff([]admin.Drain{want}, decode[[]admin.Drain](t, s.send("GET", "drains", ""))); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	ended := s.send("DELETE", "drains", `{"service": "shop@file", "endpoint": "192.0.2.9:80"}`)
	if diff := cmp.Diff([]admin.Drain{want}, decode[[]admin.Drain](t, ended)); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
	if left := s.send("GET", "drains", "").Body.String(); left != "[]\n" {
		t.Errorf("left: %s", left)
	}
	s.close()
	for _, line := range []string{
		`msg="endpoint drained" by=ann client=192.0.2.7 count=2 endpoint="192.0.2.9:80" for=10m0s force=true ` +
			`protocol=http service=shop@file subsystem=api`,
		`msg="drain of endpoint ended" by=ann client=192.0.2.7 endpoint="192.0.2.9:80" protocol=http service=shop@file`,
	} {
		if !strings.Contains(s.log.String(), line) {
			t.Errorf("the log lacks %s:\n%s", line, s.log)
		}
	}
}

// TestLevels sets the level of a subsystem, and shows all.
func TestLevels(t *testing.T) {
	s := start(t)
	before := decode[[]admin.Level](t, s.send("GET", "log", ""))
	if want := (admin.Level{Subsystem: "main", Level: "INFO", Configured: "INFO"}); before[0] != want {
		t.Errorf("first level %+v, want %+v", before[0], want)
	}
	after := decode[[]admin.Level](t, s.send("PUT", "log", `{"subsystem": "Provider", "level": "debug", "for": "1h"}`))
	changed := 0
	for i, level := range after {
		if level == before[i] {
			continue
		}
		changed++
		if lasts := time.Until(level.Until); level.Level != "DEBUG" || level.Configured != "INFO" ||
			!strings.HasPrefix(level.Subsystem, "provider") || lasts <= 0 || lasts > time.Hour {
			t.Errorf("changed to %+v", level)
		}
	}
	if changed != 6 {
		t.Errorf("%d subsystems of %d are changed", changed, len(after))
	}
	s.close()
	line := `msg="the level of the log is changed" by=ann client=192.0.2.7 for=1h0m0s subsystem=api target=provider ` +
		`to=DEBUG`
	if !strings.Contains(s.log.String(), line) {
		t.Errorf("the log lacks %s:\n%s", line, s.log)
	}
}

// TestCloseConnections closes connections, with a line of the log.
func TestCloseConnections(t *testing.T) {
	s := start(t)
	for request, want := range map[string]admin.Closed{
		`{"id": 3}`: {Closed: 1},
		`{"client": "192.0.2.0/24", "entryPoint": "web", "graceful": true}`: {Closed: 7, Closing: 3, Remaining: 2},
	} {
		if got := decode[admin.Closed](t, s.send("POST", "connections/close", request)); got != want {
			t.Errorf("%s: %+v, want %+v", request, got, want)
		}
	}
	s.close()
	for _, line := range []string{
		`msg="connections closed" by=ann client=192.0.2.7 count=1 id=3 subsystem=api`,
		`msg="connections closed" by=ann client=192.0.2.7 closing=3 count=7 entrypoint=web graceful=true ` +
			`of=192.0.2.0/24 remaining=2 subsystem=api`,
	} {
		if !strings.Contains(s.log.String(), line) {
			t.Errorf("the log lacks %s:\n%s", line, s.log)
		}
	}
}

// TestAuditIsAlwaysWritten has lines for changes in a log of errors alone, and none for what is refused.
func TestAuditIsAlwaysWritten(t *testing.T) {
	s := start(t)
	for _, change := range [][3]string{
		{"PUT", "log", `{"level": "ERROR"}`},
		{"PUT", "log", `{"level": "loud"}`},
		{"POST", "drains", `{"endpoint": "192.0.2.1:80"}`},
		{"DELETE", "drains", `{"endpoint": "192.0.2.1:80"}`},
		{"POST", "connections/close", `{"id": 3}`},
		{"PUT", "log", `{"level": "configured"}`},
	} {
		s.send(change[0], change[1], change[2])
	}
	s.close()
	for _, line := range []string{
		`msg="the level of the log is changed" by=ann client=192.0.2.7 subsystem=api to=ERROR`,
		`msg="endpoint drained" by=ann`, `msg="drain of endpoint ended" by=ann`, `msg="connections closed" by=ann`,
		`subsystem=api to=CONFIGURED`,
	} {
		if !strings.Contains(s.log.String(), line) {
			t.Errorf("the log lacks %s:\n%s", line, s.log)
		}
	}
	if strings.Contains(s.log.String(), "LOUD") {
		t.Errorf("the log has a change that was refused:\n%s", s.log)
	}
}

// A request without a user is logged with its address.
func TestWithoutUser(t *testing.T) {
	s := start(t)
	r := httptest.NewRequestWithContext(telemetry.WithRecord(context.Background(), &telemetry.Record{
		Client: "192.0.2.7", Username: "forged",
	}), http.MethodPost, "/sluice/api/admin/drains", strings.NewReader(`{"endpoint": "192.0.2.1:80"}`))
	r.Header.Set("Content-Type", "application/json")
	s.handler.ServeHTTP(httptest.NewRecorder(), r)
	s.close()
	if line := s.log.String(); !strings.Contains(line, "client=192.0.2.7") || strings.Contains(line, "forged") {
		t.Errorf("line of the log: %s", line)
	}
}
