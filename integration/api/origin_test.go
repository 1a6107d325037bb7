package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// browser is the headers of a browser. HOST is replaced by the host and port of Sluice.
type browser struct {
	name   string
	fields []string
	// nothing expects 403 without a body.
	nothing bool
}

func browsers() []browser {
	return []browser{
		{"a program", nil, false},
		{"the dashboard", []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, false},
		{"the dashboard of long ago", []string{"Origin: http://HOST"}, false},
		{"the dashboard behind TLS of another proxy", []string{"Origin: https://HOST", "Sec-Fetch-Site: same-origin"}, false},
		{"the address bar", []string{"Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, false},
		{"another site", []string{
			"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty",
			"Origin: https://evil.test",
		}, true},
		{"another site without CORS", []string{
			"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors",
			"Sec-Fetch-Dest: image",
		}, true},
		{"a neighbour", []string{"Sec-Fetch-Site: same-site", "Origin: http://other.HOST"}, true},
		{"a link", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, true},
		{"a frame", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, true},
		{"a browser of long ago on another site", []string{"Origin: https://evil.test"}, true},
		{"a sandbox", []string{"Origin: null"}, true},
		{"another port", []string{"Origin: http://127.0.0.1:1"}, true},
		{"a name that begins alike", []string{"Origin: http://HOST.evil.test"}, true},
		{"two origins", []string{"Origin: http://HOST", "Origin: https://evil.test"}, true},
		{"two sites", []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"}, true},
		{"an unknown word", []string{"Sec-Fetch-Site: somewhere"}, true},
		{"an origin that is none", []string{"Origin: %zz"}, true},
		{"a preflight", []string{
			"Origin: https://evil.test", "Access-Control-Request-Method: GET",
			"Access-Control-Request-Private-Network: true",
		}, true},
	}
}

// send requests a path as a browser does.
func (b browser) send(client *harness.Client, method, path string) harness.Response {
	request := client.Request(method, path, nil)
	for _, field := range b.fields {
		name, value, _ := strings.Cut(strings.ReplaceAll(field, "HOST", request.URL.Host), ": ")
		request.Header.Add(name, value)
	}
	return client.Send(request)
}

// TestOtherOriginsGetNothing requests everything as pages of other origins do, which must get nothing.
func TestOtherOriginsGetNothing(t *testing.T) {
	t.Parallel()
	s := start(t, "insecure: true, debug: true", map[string]string{"one.yaml": simple("one.test")})
	client := management(t, s)
	paths := []string{
		"/api/rawdata", "/api/http/routers", "/api/http/routers/one@file", "/api/http/routers/nobody", "/api/support-dump",
		"/api/openapi.yaml", "/api/generations",
		"/api/traffic", "/api/explain?url=http://one.test/", "/debug/vars", "/debug/pprof/goroutine", "/api/nothing",
	}
	for _, browser := range browsers() {
		for _, path := range paths {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost} {
				got := browser.send(client, method, path)
				if nothing := got.StatusCode == http.StatusForbidden && got.Text == ""; nothing != browser.nothing {
					t.Errorf("%s: %s %s is answered with %d: %.100s", browser.name, method, path, got.StatusCode, got.Text)
				}
				closed(t, browser.name+": "+method+" "+path, got)
			}
		}
		if browser.nothing {
			if got := browser.send(client, http.MethodGet, "/api/events"); got.StatusCode != http.StatusForbidden ||
				got.Text != "" {
				t.Errorf("%s: the events are answered with %d", browser.name, got.StatusCode)
			}
		}
		// Programs request them, and pages of other origins must not read the response.
		for _, path := range []string{"/ready", "/ping", "/metrics"} {
			for name := range browser.send(client, http.MethodGet, path).Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s: %s is answered with %s", browser.name, path, name)
				}
			}
		}
	}
}

// closed checks that a response cannot be read, framed, sniffed or stored by others.
func closed(t *testing.T, what string, answer harness.Response) {
	t.Helper()
	for name := range answer.Header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Timing-Allow-Origin" {
			t.Errorf("%s is answered with %s", what, name)
		}
	}
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
		"X-Frame-Options": "DENY",
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s is answered with %s %q", what, name, got)
		}
	}
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
		!strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("%s is answered with the policy %q", what, policy)
	}
}

// TestLinksLeadToTheDashboard follows a link of another site to the page, which shows itself; frames and scripts get
// nothing.
func TestLinksLeadToTheDashboard(t *testing.T) {
	t.Parallel()
	s := start(t, "insecure: true", nil)
	client := management(t, s)
	for _, browser := range browsers() {
		link := browser.name == "a link" || !browser.nothing
		for _, path := range []string{"/dashboard/", "/dashboard", "/"} {
			got := browser.send(client, http.MethodGet, path)
			if served := got.StatusCode != http.StatusForbidden; served != link {
				t.Errorf("%s: %s is answered with %d", browser.name, path, got.StatusCode)
			}
			if path == "/dashboard/" {
				if script := browser.send(client, http.MethodGet,
					"/dashboard/nothing.js"); (script.StatusCode == http.StatusForbidden) != browser.nothing {
					t.Errorf("%s: a file of the dashboard is answered with %d", browser.name, script.StatusCode)
				}
			}
			if strings.Contains(strings.ToLower(got.Text), "<script>") ||
				strings.Contains(got.Header.Get("Content-Security-Policy"), "unsafe") {
				t.Errorf("%s holds a script of its own: %v", path, got.Header)
			}
		}
	}
}

// TestDebugIsProtected checks that profiles are served only if enabled, and the command line never.
func TestDebugIsProtected(t *testing.T) {
	t.Parallel()
	paths := []string{
		"/debug/vars", "/debug/pprof/", "/debug/pprof", "/debug/pprof/heap",
		"/debug/pprof/goroutine?debug=2", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.1",
		"/debug/pprof/symbol",
	}
	const behind = "http: {routers: {api: {rule: \"Host(`sluice.test`)\", service: api@internal, entryPoints: [web]}}}\n"
	for _, debug := range []bool{true, false} {
		options := map[bool]string{true: "insecure: true, debug: true", false: "insecure: true"}[debug]
		s := start(t, options, map[string]string{"api.yaml": behind})
		for _, client := range []*harness.Client{management(t, s), harness.NewClient(t, harness.H1, s.Addr("web"),
			"sluice.test", nil)} {
			want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[debug]
			for _, path := range paths {
				if got := client.Get(path); got.StatusCode != want || got.StatusCode == http.StatusOK && got.Text == "" {
					t.Errorf("%s is answered with %d, want %d", path, got.StatusCode, want)
				}
			}
			for _, path := range []string{"/debug/pprof/cmdline", "/debug/pprof/nothing", "/debug", "/debug/requests"} {
				if got := client.Get(path); got.StatusCode != http.StatusNotFound || strings.Contains(got.Text, "configFile") {
					t.Errorf("%s is answered with %d: %.200s", path, got.StatusCode, got.Text)
				}
			}
			if vars := client.Get("/debug/vars").Text; strings.Contains(vars, "configFile") ||
				strings.Contains(vars, "cmdline") {
				t.Errorf("the variables hold the command line: %s", vars)
			}
			if debug {
				if got := client.Get("/debug/pprof/profile?seconds=301"); got.StatusCode != http.StatusBadRequest {
					t.Errorf("a profile of 301 seconds is answered with %d", got.StatusCode)
				}
			}
		}
	}
}
