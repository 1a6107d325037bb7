package requestredirect_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/requestredirect"
)

func serve(t *testing.T, config dynamic.RequestRedirect, line string, headers ...string) string {
	t.Helper()
	step, err := requestredirect.New("redirect@file", config)
	if err != nil {
		t.Fatal(err)
	}
	w := new(middlewaretest.Writer)
	step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the request was passed on")
	})).ServeHTTP(w, middlewaretest.Request(t, line, headers...))
	return strings.TrimSpace(strconv.Itoa(w.Status) + " " + w.Header().Get("Location"))
}

func TestReadme(t *testing.T) {
	definitions := middlewaretest.Examples(t, "README.md")
	for name, want := range map[string]string{
		"encrypted": "301 https://example.com/v1/a?b",
		"moved":     "302 http://www.example.org:8000/v2/a?b",
	} {
		if got := serve(t, *definitions[name].RequestRedirect, "GET /v1/a?b", "Host: example.com:8000"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestPorts(t *testing.T) {
	for _, row := range []struct {
		scheme string
		port   int
		host   string
		proto  string
		want   string
	}{
		{"", 0, "h", "http", "http://h/"},
		{"", 0, "h:8080", "http", "http://h:8080/"},
		{"", 0, "h:80", "http", "http://h/"},
		{"", 0, "h:443", "https", "https://h/"},
		{"", 80, "h:8080", "http", "http://h/"},
		{"", 8080, "h", "http", "http://h:8080/"},
		{"", 443, "h", "http", "http://h:443/"},
		{"", 443, "h", "https", "https://h/"},
		{"https", 0, "h:8080", "http", "https://h/"},
		{"http", 0, "h:8443", "https", "http://h/"},
		{"https", 443, "h", "http", "https://h/"},
		{"https", 80, "h", "http", "https://h:80/"},
		{"http", 8080, "h", "https", "http://h:8080/"},
		{"HTTPS", 8443, "[::1]:80", "http", "https://[::1]:8443/"},
	} {
		config := dynamic.RequestRedirect{Scheme: row.scheme, Port: row.port, StatusCode: http.StatusSeeOther}
		got := serve(t, config, "GET /", "Host: "+row.host, "X-Forwarded-Proto: "+row.proto)
		if got != "303 "+row.want {
			t.Errorf("%+v: %s", row, got)
		}
	}
	config := dynamic.RequestRedirect{StatusCode: http.StatusFound}
	if got := serve(t, config, "GET /", "Host: h", "X-Forwarded-Port: 8080"); got != "302 http://h:8080/" {
		t.Errorf("the client's port: %s", got)
	}
}

func TestPathsKeepTheQuery(t *testing.T) {
	full := "/x y"
	config := dynamic.RequestRedirect{StatusCode: http.StatusFound, Path: &dynamic.PathModifier{FullPath: &full}}
	if got := serve(t, config, "GET /a?q=1&r", "Host: h"); got != "302 http://h/x%20y?q=1&r" {
		t.Errorf("%s", got)
	}
	if got := serve(t, config, "OPTIONS *", "Host: h"); got != "302 http://h" {
		t.Errorf("OPTIONS *: %s", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, config := range []dynamic.RequestRedirect{
		{},
		{StatusCode: 300},
		{StatusCode: 302, Scheme: "ftp"},
		{StatusCode: 302, Hostname: "a:1"},
		{StatusCode: 302, Port: 65536},
		{StatusCode: 302, Port: -1},
		{StatusCode: 302, Path: &dynamic.PathModifier{}},
	} {
		if _, err := requestredirect.New("x", config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
