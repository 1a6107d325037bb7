package nginxmodel_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
)

// TestPassthrough demands that connections with TLS reach the Service of "/" as they are, by the first Ingress of a
// host and the flag of the controller.
func TestPassthrough(t *testing.T) {
	on, passed := nginxmodel.Config{SSLPassthrough: true}, []string{"ssl-passthrough: true", "server-alias: alias.example"}
	other := born("2024", ingress("other", "a.example", []string{"permanent-redirect: https://b.example/"},
		"/x Prefix other"))
	main := born("2020", ingress("one", "a.example", passed, "/ Prefix one"))
	for name, row := range map[string]struct {
		config  nginxmodel.Config
		objects []string
		request string
		status  int
		passed  bool
	}{
		"passed":         {on, []string{main, other}, "GET https://a.example:443/x?a=%2F", 200, true},
		"no URI":         {on, []string{main, other}, "GET https://a.example/%zz", 400, false},
		"plain":          {on, []string{main, other}, "GET http://a.example/x", 301, false},
		"an alias":       {on, []string{main, other}, "GET https://alias.example/x", 301, false},
		"without a flag": {nginxmodel.Config{}, []string{main, other}, "GET https://a.example/x", 301, false},
		"no path /": {
			on, []string{ingress("one", "a.example", passed, "/x Prefix one")}, "GET https://a.example/x", 502, false,
		},
		"of another host": {
			on, []string{main, ingress("two", "b.example", nil, "/ Prefix two")}, "GET https://b.example/", 200, false,
		},
		"not the first": {
			on,
			[]string{other, born("2025", ingress("one", "a.example", passed, "/ Prefix one"))},
			"GET https://a.example/x", 301, false,
		},
	} {
		got := ask(t, build(t, row.config, row.objects...), request(row.request, "X-Own: 1"))
		untouched := got.Upstream != nil && got.Upstream.Service == "default/one:80" && len(got.Upstream.Header) == 1 &&
			strings.HasSuffix(row.request, got.Upstream.Host+got.Upstream.Target)
		if got.Status != row.status || untouched != row.passed {
			t.Errorf("%s: %+v %+v", name, got, got.Upstream)
		}
	}
}

// TestPortsOfTheController has redirects with the port of the flags.
func TestPortsOfTheController(t *testing.T) {
	m := build(t, nginxmodel.Config{HTTPPort: "8080", HTTPSPort: "8443"}, secured(ingress("one", "www.a.example",
		[]string{"use-port-in-redirects: true", "from-to-www-redirect: true"}, "/ Prefix one")))
	for text, want := range map[string]string{
		"GET http://www.a.example/x": "https://www.a.example:8443/x", "GET http://a.example/x": "http://www.a.example:8080/x",
		"GET https://a.example/x": "https://www.a.example:8443/x",
	} {
		if got := ask(t, m, request(text)).Header.Get("Location"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestRewritesOfSnippets has the rewrites that Sluice does.
func TestRewritesOfSnippets(t *testing.T) {
	for _, row := range []struct {
		snippet, request, want string
		more                   []string
	}{
		{"rewrite ^/old/(.*)$ /new/$1 break;", "/old/a?b", "one /new/a?b", nil},
		{"rewrite ^/old/(.*)$ /new/$1 break;", "/other", "one /other", nil},
		{"rewrite ^/old/(.*)$ /new/$1 last;", "/old/a", "one /new/a", nil},
		{"rewrite ^/old/(.*)$ /new/$1 last;", "/old/a", "one /old/a", []string{"/x Prefix two"}},
		{"rewrite ^/old/(.*)$ /new/$1 redirect;", "/old/a", "Found http://a.example/new/a", nil},
		{"rewrite ^/old/(.*)$ /new/$1 permanent;", "/old/a", "Moved Permanently http://a.example/new/a", nil},
		{"if ($a) { gzip on; } rewrite ^/old /new break;", "/old", "one /old", nil},
	} {
		config := nginxmodel.Config{Settings: map[string]string{"annotations-risk-level": "Critical"}}
		m := build(t, config, ingress("one", "a.example", []string{"configuration-snippet: " + row.snippet},
			append([]string{"/ Prefix one"}, row.more...)...))
		if got := short(ask(t, m, request(http.MethodGet+" http://a.example"+row.request))); got != row.want {
			t.Errorf("%s: %s, want %s", row.snippet, got, row.want)
		}
	}
}
