package cors_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/cors"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// serve returns the status and the headers of the response; the service allows every origin.
func serve(t *testing.T, config dynamic.CORS, line string, headers ...string) (int, http.Header) {
	t.Helper()
	step, err := cors.New("cors@file", config)
	if err != nil {
		t.Fatal(err)
	}
	w := new(middlewaretest.Writer)
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.WriteHeader(http.StatusAccepted)
	})).ServeHTTP(w, middlewaretest.Request(t, line, append(headers, "Host: h")...))
	return w.Status, w.Header()
}

func readme(t *testing.T) dynamic.CORS {
	t.Helper()
	return *middlewaretest.Examples(t, "README.md")["pages"].CORS
}

func TestPreflight(t *testing.T) {
	anything := dynamic.CORS{
		AllowOrigins: []string{"*"}, AllowMethods: []string{"*"}, AllowHeaders: []string{"*"}, MaxAge: 5,
	}
	credentials := anything
	credentials.AllowCredentials = true
	vary := []string{"Origin"}
	for _, row := range []struct {
		name    string
		config  dynamic.CORS
		headers []string
		want    http.Header
	}{
		{"allowed", readme(t), []string{"Origin: https://a.b.example.org"}, http.Header{
			"Access-Control-Allow-Origin": {"https://a.b.example.org"}, "Access-Control-Allow-Methods": {"GET, PUT"},
			"Access-Control-Allow-Headers": {"X-Team"}, "Access-Control-Expose-Headers": {"X-Total"},
			"Access-Control-Allow-Credentials": {"true"}, "Access-Control-Max-Age": {"3600"}, "Vary": vary,
		}},
		{"other origin", readme(t), []string{"Origin: https://example.org"}, http.Header{"Vary": vary}},
		{"anything", anything, []string{"Origin: https://a:1"}, http.Header{
			"Access-Control-Allow-Origin": {"*"}, "Access-Control-Allow-Methods": {"*"},
			"Access-Control-Allow-Headers": {"*"}, "Access-Control-Max-Age": {"5"},
		}},
		{"anything with credentials", credentials, []string{
			"Origin: https://a:1", "Access-Control-Request-Headers: X-A, x-b",
		}, http.Header{
			"Access-Control-Allow-Origin": {"https://a:1"}, "Access-Control-Allow-Methods": {"PUT"},
			"Access-Control-Allow-Headers": {"X-A, x-b"}, "Access-Control-Max-Age": {"5"},
			"Access-Control-Allow-Credentials": {"true"}, "Vary": vary,
		}},
		{"null with credentials", credentials, []string{"Origin: null"}, http.Header{"Vary": vary}},
	} {
		status, got := serve(t, row.config, "OPTIONS /", append(row.headers, "Access-Control-Request-Method: PUT")...)
		if diff := cmp.Diff(row.want, got); status != http.StatusNoContent || diff != "" {
			t.Errorf("%s: %d (-want +got):\n%s", row.name, status, diff)
		}
	}
}

func TestResponses(t *testing.T) {
	for _, row := range []struct {
		name, line string
		headers    []string
		want       http.Header
	}{
		{"allowed", "GET /", []string{"Origin: https://www.example.com"}, http.Header{
			"Access-Control-Allow-Origin": {"https://www.example.com"}, "Access-Control-Allow-Credentials": {"true"},
			"Access-Control-Expose-Headers": {"X-Total"}, "Vary": {"Origin"},
		}},
		{"other", "GET /", []string{"Origin: https://evil.example.com"}, http.Header{"Vary": {"Origin"}}},
		{"none", "GET /", nil, http.Header{"Vary": {"Origin"}}},
		{"other OPTIONS", "OPTIONS /", []string{"Origin: https://evil.example.com"}, http.Header{"Vary": {"Origin"}}},
	} {
		status, got := serve(t, readme(t), row.line, row.headers...)
		if diff := cmp.Diff(row.want, got); status != http.StatusAccepted || diff != "" {
			t.Errorf("%s: %d (-want +got):\n%s", row.name, status, diff)
		}
	}
}

// TestEveryOrigin proves that a response which a cache may store for all requests allows every origin, whatever the
// request that it answered.
func TestEveryOrigin(t *testing.T) {
	config := dynamic.CORS{AllowOrigins: []string{"*"}, ExposeHeaders: []string{"X-Total"}, MaxAge: 5}
	want := http.Header{"Access-Control-Allow-Origin": {"*"}, "Access-Control-Expose-Headers": {"X-Total"}}
	for name, headers := range map[string][]string{
		"none": nil, "one": {"Origin: https://a.example"}, "null": {"Origin: null"},
		"several": {"Origin: https://a.example", "Origin: https://b.example"},
	} {
		if _, got := serve(t, config, "GET /", headers...); !cmp.Equal(want, got) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(want, got))
		}
	}
	config.AllowCredentials = true
	if _, got := serve(t, config, "GET /"); !cmp.Equal(http.Header{"Vary": {"Origin"}}, got) {
		t.Errorf("none with credentials: %v", got)
	}
}

func TestOrigins(t *testing.T) {
	for _, row := range []struct {
		pattern, origin string
		allowed         bool
	}{
		{"https://a.example", "https://a.example", true},
		{"https://a.example", "HTTPS://A.Example", true},
		{"https://a.example", "https://a.example:443", true},
		{"https://a.example:443", "https://a.example", true},
		{"https://a.example", "https://a.example:8443", false},
		{"https://a.example", "http://a.example", false},
		{"https://a.example", "https://b.a.example", false},
		{"https://*.bar.com", "https://www.bar.com", true},
		{"https://*.bar.com", "https://xpto.www.bar.com", true},
		{"https://*.bar.com", "https://bar.com", false},
		{"https://*.bar.com", "https://foobar.com", false},
		{"https://*.bar.com", "https://a.bar.com.evil.org", false},
		{"https://*.bar.com:8443", "https://a.bar.com:8443", true},
		{"https://*.bar.com:8443", "https://a.bar.com", false},
		{"https://*", "https://anything.example", true},
		{"https://*", "http://anything.example", false},
		{"https://*", "null", false},
	} {
		_, header := serve(t, dynamic.CORS{AllowOrigins: []string{row.pattern}, MaxAge: 5}, "GET /", "Origin: "+row.origin)
		if got := header.Get("Access-Control-Allow-Origin") == row.origin; got != row.allowed {
			t.Errorf("%s with %s: %v", row.origin, row.pattern, header)
		}
	}
}

// TestWarnings proves that there is a warning where every site may send requests with the visitor's credentials.
func TestWarnings(t *testing.T) {
	for origin, want := range map[string]bool{
		"*": true, "https://*": true, "http://*:8080": true, "https://*.example.com": false, "https://a.example": false,
	} {
		for _, credentials := range []bool{false, true} {
			step, err := cors.New("x", dynamic.CORS{
				MaxAge: 5, AllowOrigins: []string{origin}, AllowCredentials: credentials,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := step.Warnings()
			if found := len(got) == 1 && strings.Contains(got[0], " "+origin+" lets"); found != (want && credentials) {
				t.Errorf("%s, credentials %v: %q", origin, credentials, got)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, config := range []dynamic.CORS{
		{},
		{MaxAge: 5, AllowOrigins: []string{"*", "https://a"}},
		{MaxAge: 5, AllowOrigins: []string{"a.example"}},
		{MaxAge: 5, AllowOrigins: []string{"https://*bar.com"}},
		{MaxAge: 5, AllowOrigins: []string{"https://a.*.com"}},
		{MaxAge: 5, AllowOrigins: []string{"ftp://a"}},
		{MaxAge: 5, AllowMethods: []string{"GET", "*"}},
		{MaxAge: 5, AllowHeaders: []string{"a b"}},
		{MaxAge: 5, ExposeHeaders: []string{"a:"}},
	} {
		if _, err := cors.New("x", config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
