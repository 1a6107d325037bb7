package ingressnginx

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/telemetry"
)

// exchange is a request to a host of a golden file, and the status of its answer; 200 is that of the service.
type exchange struct {
	host, path, client string
	header             http.Header
	want               int
}

// status sends a request without TLS.
func (a table) status(t *testing.T, method string, e *exchange) int {
	t.Helper()
	r := httptest.NewRequestWithContext(telemetry.WithRecord(context.Background(), &telemetry.Record{}), method,
		"/", http.NoBody)
	if e.path != "" {
		r.URL.Path = e.path
	}
	r.Host = e.host
	r.Header.Set("User-Agent", "curl")
	if e.client != "" {
		r.RemoteAddr = e.client + ":1234"
	}
	for name, values := range e.header {
		r.Header[name] = values
	}
	recorder := httptest.NewRecorder()
	a.ServeHTTP(recorder, r)
	return recorder.Code
}

// serveFile makes the configuration of a golden file active.
func serveFile(t *testing.T, name string) table {
	t.Helper()
	content := readFile(t, "testdata/"+name+".yaml")
	cluster := newCluster()
	cluster.apply(t, readFile(t, "testdata/common.txt"))
	cluster.apply(t, content)
	return serve(t, translated(t, cluster.provider(optionsOf(t, content))))
}

// TestAccess sends requests that lists, passwords and blocks refuse, and others.
func TestAccess(t *testing.T) {
	// The password of ben is "password"; bob has none.
	ben := http.Header{"Authorization": {"Basic YmVuOnBhc3N3b3Jk"}}
	bob := http.Header{"Authorization": {"Basic Ym9iOg=="}}
	agent := func(text string) http.Header { return http.Header{"User-Agent": {text}} }
	for name, exchanges := range map[string][]exchange{
		"access": {
			{host: "lists.example.com", client: "10.2.0.1", want: 200},
			{host: "lists.example.com", client: "192.0.2.1", want: 200},
			{host: "lists.example.com", client: "10.1.0.1", want: 403},
			{host: "lists.example.com", client: "198.51.100.1", want: 403},
			{host: "any.example.com", client: "10.2.0.1", want: 200},
			{host: "any.example.com", client: "10.1.0.1", want: 401},
			{host: "any.example.com", client: "10.1.0.1", header: ben, want: 200},
			{host: "any.example.com", client: "198.51.100.1", header: bob, want: 401},
			{host: "any-deny.example.com", client: "10.1.0.1", want: 401},
			{host: "any-deny.example.com", client: "198.51.100.1", want: 401},
			{host: "any-deny.example.com", client: "10.1.0.1", header: ben, want: 200},
			{host: "any-list.example.com", client: "10.1.0.1", want: 200},
			{host: "any-list.example.com", client: "198.51.100.1", want: 403},
			{host: "any-both.example.com", client: "198.51.100.1", header: ben, want: 200},
			{host: "plain.example.com", client: "198.51.100.1", want: 200},
			{host: "plain.example.com", client: "203.0.113.9", want: 403},
			{host: "plain.example.com", header: agent("x Bot/1"), want: 403},
			{host: "plain.example.com", header: agent("x Bot/x"), want: 200},
			{host: "plain.example.com", header: agent("alpha.bot"), want: 403},
			{host: "plain.example.com", header: agent("alphaxbot"), want: 200},
			{host: "plain.example.com", header: agent(""), want: 403},
			{host: "plain.example.com", header: http.Header{"User-Agent": nil}, want: 403},
			{host: "plain.example.com", header: http.Header{"Referer": {"http://spam.example/x"}}, want: 403},
			{host: "plain.example.com", header: http.Header{"Referer": {"http://Spam.example/x"}}, want: 200},
			{host: "www.plain.example.com", want: 308},
			{host: "www.plain.example.com", header: agent("Alpha.Bot"), want: 403},
			{host: "unknown.example.com", want: 404},
			{host: "unknown.example.com", header: agent("Alpha.Bot"), want: 403},
		},
		"blocked": {{host: "plain.example.com", want: 503}, {host: "unknown.example.com", want: 503}},
		"auth": {
			{host: "file.example.com", want: 401},
			{host: "file.example.com", header: ben, want: 200},
			{host: "file.example.com", header: bob, want: 401},
			{host: "file.example.com", path: "/.well-known/acme-challenge/token", want: 200},
			{host: "map.example.com", want: 401},
			{host: "map.example.com", header: ben, want: 200},
			{host: "digest.example.com", want: 401},
			{host: "missing.example.com", want: 503},
			{host: "no-key.example.com", want: 503},
			{host: "no-users.example.com", want: 503},
			{host: "foreign.example.com", want: 503},
		},
		"authrequest": {
			{host: "missing.example.com", want: 503},
			{host: "snippet.example.com", want: 503},
			{host: "open.example.com", want: 200},
			{host: "global.example.com", path: "/.well-known/acme-challenge/token", want: 200},
			{host: "unknown.example.com", want: 404},
		},
	} {
		t.Run(name, func(t *testing.T) {
			active := serveFile(t, name)
			for _, one := range exchanges {
				if got := active.status(t, http.MethodGet, &one); got != one.want {
					t.Errorf("%+v: %d", one, got)
				}
			}
		})
	}
}

// TestPreflight has preflight requests answered, except for hosts without an origin.
func TestPreflight(t *testing.T) {
	active := serveFile(t, "cors")
	for host, want := range map[string]int{"usual.example.com": 204, "own.example.com": 204, "none.example.com": 200} {
		one := exchange{host: host, header: http.Header{"Origin": {"https://a.example.com"}}}
		if got := active.status(t, http.MethodOptions, &one); got != want {
			t.Errorf("%s: %d", host, got)
		}
	}
}
