package api

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/telemetry"
)

// page is a part that stands for the dashboard.
type page struct{}

func (page) Mount(root *mux.Router, prefix string) {
	root.PathPrefix(prefix + "/dashboard").HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "page")
	})
}

func TestOtherOriginsGetNothing(t *testing.T) {
	options := sampleOptions()
	options.Parts = []Part{page{}}
	options.BasePath = "/sluice"
	handler := New(options)
	const navigate = "Sec-Fetch-Mode: navigate\nSec-Fetch-Dest: document\nSec-Fetch-Site: cross-site"
	tests := []struct {
		name, method, path, header string
		status                     int
	}{
		{"a program", "GET", "/api/overview", "", 200},
		{"a program by HEAD", "HEAD", "/api/overview", "", 200},
		{"the address bar", "GET", "/api/overview", "Sec-Fetch-Site: none", 200},
		{"our own page", "GET", "/api/overview", "Sec-Fetch-Site: same-origin", 200},
		{"our own origin", "GET", "/api/overview", "Origin: https://SLUICE.test:8080", 200},
		{"another site", "GET", "/api/overview", "Sec-Fetch-Site: cross-site", 403},
		{"another subdomain", "GET", "/api/overview", "Sec-Fetch-Site: same-site", 403},
		{"a site of the future", "GET", "/api/overview", "Sec-Fetch-Site: nearby", 403},
		{"two sites", "GET", "/api/overview", "Sec-Fetch-Site: same-origin\nSec-Fetch-Site: cross-site", 403},
		{"another origin", "GET", "/api/overview", "Origin: http://evil.test", 403},
		{"another port", "GET", "/api/overview", "Origin: http://sluice.test", 403},
		{"an origin that hides", "GET", "/api/overview", "Origin: null", 403},
		{"an origin that is none", "GET", "/api/overview", "Origin: http://[", 403},
		{"a preflight", "OPTIONS", "/api/overview", "Origin: http://evil.test\nAccess-Control-Request-Method: GET", 403},
		{"events for another site", "GET", "/api/events", "Sec-Fetch-Site: cross-site", 403},
		{"a profile for another site", "GET", "/debug/pprof/heap", "Sec-Fetch-Site: cross-site", 403},
		{"nothing for another site", "GET", "/api/none", "Sec-Fetch-Site: cross-site", 403},
		{"a link to the dashboard", "GET", "/dashboard/", navigate, 200},
		{"a link to the dashboard without a slash", "GET", "/dashboard", navigate, 200},
		{"a link to the dashboard that names its origin", "GET", "/dashboard/", navigate + "\nOrigin: null", 403},
		{"a form that leads to the dashboard", "POST", "/dashboard/", navigate, 403},
		{"a link to the API", "GET", "/api/rawdata", navigate, 403},
		{"a frame around the dashboard", "GET", "/dashboard/", strings.Replace(navigate, "document", "iframe", 1), 403},
		{
			"a script of the dashboard", "GET", "/dashboard/main.js",
			"Sec-Fetch-Mode: no-cors\nSec-Fetch-Dest: script\nSec-Fetch-Site: cross-site", 403,
		},
		{"POST of a program", "POST", "/api/overview", "", 405},
		{"POST of a program to a part", "POST", "/dashboard/", "", 405},
		{"PUT to a provider", "PUT", "/api/providers/rest", "", 405},
		{"OPTIONS of a program", "OPTIONS", "/api/overview", "", 405},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequestWithContext(t.Context(), test.method, "http://sluice.test:8080/sluice"+test.path,
				http.NoBody)
			for line := range strings.Lines(test.header) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				request.Header.Add(name, value)
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != test.status {
				t.Errorf("status = %d %s, want %d", answer.Code, answer.Body, test.status)
			}
			if test.status == http.StatusForbidden && answer.Body.Len() > 0 {
				t.Errorf("another origin gets %s", answer.Body)
			}
			header := answer.Header()
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
				"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			} {
				if got := header.Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
			for name := range header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("the answer has %s", name)
				}
			}
		})
	}
}

// A client without a Host has no origin either: one that hides is not its own.
func TestAnOpaqueOriginIsForeign(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/overview", http.NoBody)
	request.Host = ""
	request.Header.Set("Origin", "null")
	answer := httptest.NewRecorder()
	New(sampleOptions()).ServeHTTP(answer, request)
	if answer.Code != http.StatusForbidden || answer.Body.Len() > 0 {
		t.Errorf("status = %d %s", answer.Code, answer.Body)
	}
}

// A part that is a service of its own is protected as the API is.
func TestPartsOfTheirOwnAreProtected(t *testing.T) {
	page := Protect("/base/", telemetry.Discard{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "page")
	}))
	link := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
	for _, test := range []struct {
		method, path string
		header       map[string]string
		status       int
	}{
		{http.MethodGet, "/base/dashboard/", nil, http.StatusOK},
		{http.MethodGet, "/base/dashboard/", link, http.StatusOK},
		{http.MethodGet, "/base/dashboard/page.js", link, http.StatusForbidden},
		{http.MethodGet, "/base/dashboard/", map[string]string{"Origin": "https://evil.test"}, http.StatusForbidden},
		{http.MethodPost, "/base/dashboard/", nil, http.StatusMethodNotAllowed},
	} {
		request := httptest.NewRequestWithContext(t.Context(), test.method, test.path, http.NoBody)
		for name, value := range test.header {
			request.Header.Set(name, value)
		}
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, request)
		if answer.Code != test.status || answer.Code == http.StatusForbidden && answer.Body.Len() > 0 {
			t.Errorf("%s %s %v = %d %s", test.method, test.path, test.header, answer.Code, answer.Body)
		}
	}
}

// TestNamesOfOthersAreRefusedOnLoopback has the administration refuse what a web page could send whose name resolves
// to a loopback address. What is read alone is answered by any name, as by Traefik.
func TestNamesOfOthersAreRefusedOnLoopback(t *testing.T) {
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	const loopback = "127.0.0.1:8080"
	named, authenticated := telemetry.Record{HostNamed: true}, telemetry.Record{Authenticated: true}
	received := func(host string) telemetry.Record { return telemetry.Record{Host: host} }
	for name, test := range map[string]struct {
		local, host string
		record      telemetry.Record
		secure      bool
		refused     bool
	}{
		"an address":                    {local: loopback, host: loopback},
		"an address of another machine": {local: loopback, host: "192.0.2.1"},
		"an IPv6 address":               {local: "[::1]:8080", host: "[::1]:8080"},
		"localhost":                     {local: loopback, host: "LocalHost:8080"},
		"below localhost":               {local: loopback, host: "sluice.localhost."},
		"this machine":                  {local: loopback, host: strings.ToUpper(machine) + ":8080"},
		"no host":                       {local: loopback},
		"a name":                        {local: loopback, host: "evil.test:8080", refused: true},
		"a name over IPv6":              {local: "[::1]:8080", host: "evil.test", refused: true},
		"a name over mapped IPv4":       {local: "[::ffff:127.0.0.1]:8080", host: "evil.test", refused: true},
		"a name like an address":        {local: loopback, host: "127.0.0.1.evil.test", refused: true},
		"a name like localhost":         {local: loopback, host: "localhost.evil.test", refused: true},
		"a label":                       {local: loopback, host: "evil", refused: true},
		"no valid host":                 {local: loopback, host: "evil..test", refused: true},
		"a name over another address":   {local: "192.0.2.1:8080", host: "sluice.test"},
		"a name of the rule":            {local: loopback, host: "sluice.test", record: named},
		"a name of a user":              {local: loopback, host: "sluice.test", record: authenticated},
		"a name over TLS":               {local: loopback, host: "sluice.test", secure: true},
		"a name hidden by a middleware": {local: loopback, host: "localhost", record: received("evil.test"), refused: true},
		"a name set by a middleware":    {local: loopback, host: "sluice.test", record: received("127.0.0.1")},
	} {
		t.Run(name, func(t *testing.T) {
			address, err := net.ResolveTCPAddr("tcp", test.local)
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(address))
			ctx = telemetry.WithRecord(ctx, &test.record)
			answered := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
			for changes, handler := range map[bool]http.Handler{
				false: Protect("", telemetry.Discard{}, answered), true: ProtectChanges(telemetry.Discard{}, answered),
			} {
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/overview", nil)
				if r.Host = test.host; test.secure {
					r.TLS = new(tls.ConnectionState)
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if refused := w.Code == http.StatusForbidden; refused != (test.refused && changes) ||
					refused && !strings.Contains(w.Body.String(), "an IP address, localhost or the name of this machine") {
					t.Errorf("status %d: %s", w.Code, w.Body)
				}
			}
		})
	}
}
