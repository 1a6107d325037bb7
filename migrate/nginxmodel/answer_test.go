package nginxmodel_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/migrate/probe"
)

// TestPhases: which of two steps answers a request that both would.
func TestPhases(t *testing.T) {
	const (
		cors     = "enable-cors: true"
		forced   = "force-ssl-redirect: true"
		returned = "permanent-redirect: https://b.example/x"
		listed   = "allowlist-source-range: 10.0.0.0/8"
		subquery = "auth-url: http://auth.test/"
		root     = "app-root: /app"
		invalid  = "auth-url: no-url"
		solver   = "/.well-known/acme-challenge/x"
	)
	long := func(p *probe.Probe) { p.Length = 2 << 20 }
	none := func(*probe.Probe) {}
	for _, test := range []struct {
		name        string
		annotations []string
		path        string
		request     string
		change      func(*probe.Probe)
		status      int
		step        answer.Step
	}{
		{"app-root before all", []string{root, returned, forced}, "/", "GET http://a.example/", none, 302, answer.ServerStep},
		{"length before slash", nil, "/a/", "POST http://a.example/a", long, 413, answer.BodySize},
		{"length before preflight", []string{cors}, "/", "OPTIONS http://a.example/", long, 413, answer.BodySize},
		{"slash before return", []string{returned}, "/a/", "GET http://a.example/a", none, 301, answer.Slash},
		{"slash before https", []string{forced}, "/a/", "GET http://a.example/a", none, 301, answer.Slash},
		{"denied before https", []string{invalid, forced}, "/a/", "GET http://a.example/a/", none, 503, answer.Denied},
		{"denied has no slash", []string{invalid}, "/a/", "GET http://a.example/a", none, 404, answer.Default},
		{"preflight before return", []string{cors, returned}, "/", "OPTIONS http://a.example/", none, 204, answer.Preflight},
		{"preflight before https", []string{cors, forced}, "/", "OPTIONS http://a.example/", none, 204, answer.Preflight},
		{"preflight before lists", []string{cors, listed}, "/", "OPTIONS http://a.example/", none, 204, answer.Preflight},
		{"return before https", []string{returned, forced}, "/", "GET http://a.example/", none, 301, answer.Return},
		{"return before lists", []string{returned, listed}, "/", "GET http://a.example/", none, 301, answer.Return},
		{"https before lists", []string{forced, listed}, "/", "GET http://a.example/", none, 308, answer.HTTPS},
		{"lists before passwords", []string{listed, subquery}, "/", "GET http://a.example/", none, 403, answer.Addresses},
		{"either", []string{listed, subquery, "satisfy: any"}, "/", "GET http://a.example/", none, 401, answer.AuthRequest},
		{"authentication", []string{subquery}, "/", "GET http://a.example/", none, 401, answer.AuthRequest},
		{"solver", []string{subquery, forced}, solver, "GET http://a.example" + solver, none, 200, answer.Forward},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := build(t, nginxmodel.Config{}, ingress("other", "a.example", nil, "/else Prefix other"),
				ingress("one", "a.example", test.annotations, test.path+" Prefix one"))
			p := request(test.request)
			test.change(&p)
			got := ask(t, m, p)
			if got.Status != test.status || got.Step != test.step {
				t.Errorf("%d by %s, want %d by %s", got.Status, got.Step, test.status, test.step)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	text := func(annotations ...string) string { return ingress("one", "a.example", annotations, "/x/ Prefix one") }
	for _, test := range []struct {
		text, request, want string
	}{
		{secured(text()), "GET http://a.example:80/x/y/?a=b/", "Permanent Redirect https://a.example/x/y/?a=b"},
		{
			secured(text("preserve-trailing-slash: true")), "GET http://a.example/x/",
			"Permanent Redirect https://a.example/x/",
		},
		{secured(text("ssl-redirect: false")), "GET http://a.example/x/", "one /x/"},
		{secured(text()), "GET https://a.example/x/", "one /x/"},
		{text(), "GET http://a.example/x/", "one /x/"},
		{text("relative-redirects: true"), "GET http://a.example/x?a", "Moved Permanently /x/?a"},
		{text("temporal-redirect: https://b.example/"), "GET http://a.example/x/", "Found https://b.example/"},
		{text("app-root: /x/"), "GET https://a.example:8443/?a", "Found https://a.example:8443/x/"},
		{
			text("auth-url: http://auth.test/", "auth-signin: http://$host/in"), "GET http://a.example/x/?a=b",
			"Found http://a.example/in?rd=http://a.example%2Fx%2F%3Fa%3Db",
		},
		{
			text("auth-url: http://auth.test/", "auth-signin: http://in.test/?a=b", "auth-signin-redirect-param: to"),
			"GET http://a.example/x/", "Found http://in.test/?a=b&to=http://a.example%2Fx%2F",
		},
	} {
		if got := short(ask(t, build(t, nginxmodel.Config{}, test.text), request(test.request))); got != test.want {
			t.Errorf("%s: %s, want %s\n%s", test.request, got, test.want, test.text)
		}
	}
}

func TestRewrite(t *testing.T) {
	for _, test := range []struct{ path, target, request, want string }{
		{"/a(/|$)(.*)", "/$2", "/a/b/c?d=e", "/b/c?d=e"},
		{"/a(/|$)(.*)", "/$2", "/a", "/"},
		{"/a", "/b", "/a/more?c", "/b?c"},
		{"/A/(?<rest>.*)", "/new/$rest", "/a/x%20y", "/new/x%20y"},
		{"/a/(.*)", "/$1", "/%61/b%2Fc", "/b/c"},
		{"/a", "/a", "/a/b", "/a/b"},
		{"/a", "https://b.example/new", "/a?c=d", "Found https://b.example/new?c=d"},
	} {
		m := build(t, nginxmodel.Config{}, ingress("one", "a.example", []string{
			"use-regex: true", "rewrite-target: " + test.target,
		}, test.path+" ImplementationSpecific one"))
		got := strings.TrimPrefix(short(ask(t, m, request("GET http://a.example"+test.request))), "one ")
		if got != test.want {
			t.Errorf("%s with %s: %s is %s, want %s", test.path, test.target, test.request, got, test.want)
		}
	}
}

func TestWhatEndpointsReceive(t *testing.T) {
	m := build(t, nginxmodel.Config{}, ingress("one", "a.example", []string{
		"rewrite-target: /$1", "x-forwarded-prefix: /p/$1", "upstream-vhost: inner.test",
	}, "/a/(.*) ImplementationSpecific one"))
	got := ask(t, m, request("GET https://a.example/a/b", "X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: http",
		"Proxy: evil", "Accept: text/plain", "Under_score: 1"))
	want := &answer.Upstream{
		Service: "default/one:80", Method: "GET", Target: "/b", Host: "inner.test", Header: http.Header{
			"X-Forwarded-For": {"192.0.2.1"}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Port": {"443"},
			"X-Forwarded-Host": {"a.example"}, "X-Forwarded-Scheme": {"https"}, "X-Scheme": {"https"},
			"X-Real-Ip": {"192.0.2.1"}, "X-Original-Forwarded-For": {"203.0.113.9"}, "X-Forwarded-Prefix": {"/p/b"},
			"Accept": {"text/plain"},
		},
	}
	if diff := cmp.Diff(want, got.Upstream); diff != "" {
		t.Error(diff)
	}
	if hsts := got.Header.Get("Strict-Transport-Security"); hsts != "max-age=31536000; includeSubDomains" {
		t.Errorf("Strict-Transport-Security: %q", hsts)
	}
}

func TestTrustedProxies(t *testing.T) {
	m := build(t, nginxmodel.Config{Settings: map[string]string{"use-forwarded-headers": "true"}},
		ingress("one", "a.example", []string{"force-ssl-redirect: true", "allowlist-source-range: 203.0.113.0/24"},
			"/ Prefix one"))
	got := ask(t, m, request("GET http://a.example/", "X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https",
		"X-Forwarded-Port: 8443", "X-Forwarded-Host: b.example"))
	if got.Upstream == nil || got.Upstream.Host != "b.example" || got.Upstream.Header.Get("X-Forwarded-Port") != "8443" ||
		got.Upstream.Header.Get("X-Forwarded-For") != "203.0.113.9" {
		t.Errorf("answer %+v", got)
	}
}

func TestCORS(t *testing.T) {
	m := build(t, nginxmodel.Config{}, ingress("one", "a.example", []string{
		"enable-cors: true", "cors-allow-origin: https://*.b.example", "cors-allow-credentials: false", "cors-max-age: 7",
	}, "/ Prefix one"))
	got := ask(t, m, request("OPTIONS http://a.example/", "Origin: HTTPS://x.b.example"))
	if got.Status != http.StatusNoContent || got.Header.Get("Access-Control-Allow-Origin") != "HTTPS://x.b.example" ||
		got.Header.Get("Access-Control-Allow-Credentials") != "" || got.Header.Get("Access-Control-Max-Age") != "7" {
		t.Errorf("a preflight: %+v", got)
	}
	for _, origin := range []string{"https://b.example", "https://x.y.b.example", "https://x.b.example.evil"} {
		got := ask(t, m, request("OPTIONS http://a.example/", "Origin: "+origin))
		if got.Upstream == nil || len(got.Header) > 0 {
			t.Errorf("%s: %+v", origin, got)
		}
	}
}

func TestCanary(t *testing.T) {
	canary := ingress("canary", "a.example", []string{
		"canary: true", "canary-weight: 30", "canary-by-header: X-Canary", "canary-by-cookie: choice",
	}, "/ Prefix new", "/lonely Prefix new")
	m := build(t, nginxmodel.Config{}, ingress("main", "a.example", nil, "/ Prefix old"), canary,
		ingress("other", "b.example", nil, "/x Prefix old"))
	for _, test := range []struct {
		header string
		want   string
	}{
		{"X-Canary: always", "new"},
		{"X-Canary: never", "old"},
		{"Cookie: choice=always", "new"},
		{"Cookie: choice=never", "old"},
		{"X-Canary: other", "old or new"},
		{"Accept: */*", "old or new"},
	} {
		for _, address := range []string{"http://a.example/", "http://b.example/x"} {
			got := ask(t, m, request("GET "+address, test.header)).Upstream
			names := append([]string{got.Service}, got.Others...)
			text := strings.NewReplacer("default/", "", ":80", "").Replace(strings.Join(names, " or "))
			if text != test.want {
				t.Errorf("%s with %s: %s, want %s", address, test.header, text, test.want)
			}
		}
	}
	if problems := m.Problems(); len(problems) != 1 || !strings.Contains(problems[0].Reason, "/lonely") {
		t.Errorf("problems %+v", problems)
	}
	canary = ingress("canary", "a.example", []string{
		"canary: true", "canary-by-header: X-Canary", "canary-by-header-value: yes",
	}, "/ Prefix new")
	value := build(t, nginxmodel.Config{}, ingress("main", "a.example", nil, "/ Prefix old"), canary)
	for header, want := range map[string]string{"X-Canary: yes": "new /", "X-Canary: always": "old /"} {
		if got := short(ask(t, value, request("GET http://a.example/", header))); got != want {
			t.Errorf("%s: %s, want %s", header, got, want)
		}
	}
}

func TestCredentials(t *testing.T) {
	const secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: users}\nstringData: {auth: 'a:b'}\n"
	auth := []string{"auth-type: basic", "auth-secret: users", "auth-realm: Staff"}
	m := build(t, nginxmodel.Config{}, secret, ingress("one", "a.example", auth, "/ Prefix one"))
	got := ask(t, m, request("GET http://a.example/", "Authorization: Basic YTpi"))
	if got.Status != http.StatusUnauthorized || got.Header.Get("Www-Authenticate") != `Basic realm="Staff"` {
		t.Errorf("a password: %+v", got)
	}
	auth[1] = "auth-secret: others"
	m = build(t, nginxmodel.Config{}, secret, ingress("one", "a.example", auth, "/x Prefix one"))
	expect(t, m, map[string]string{"/x": "Service Unavailable", "/": "Service Unavailable"})
}

func TestLimitsAreNotes(t *testing.T) {
	m := build(t, nginxmodel.Config{}, ingress("one", "a.example", []string{"limit-rps: 5", "limit-connections: 3"},
		"/ Prefix one"))
	got := ask(t, m, request("GET http://a.example/"))
	want := []string{
		"503 for more than 5 requests per second and client, after 26 at once",
		"503 for more than 3 requests at a time of a client",
	}
	if diff := cmp.Diff(want, got.Notes); diff != "" || got.Status != http.StatusOK {
		t.Errorf("%d %s", got.Status, diff)
	}
}

func TestAffinity(t *testing.T) {
	m := build(t, nginxmodel.Config{}, ingress("one", "a.example", []string{
		"affinity: cookie", "session-cookie-name: id",
		"session-cookie-max-age: 60", "session-cookie-samesite: lax",
	}, "/x Prefix one"))
	got := ask(t, m, request("GET https://a.example/x/y"))
	want := "id=0; Path=/x; Max-Age=60; HttpOnly; Secure; SameSite=Lax"
	if cookie := got.Header.Get("Set-Cookie"); cookie != want {
		t.Errorf("Set-Cookie: %s, want %s", cookie, want)
	}
	if got := ask(t, m, request("GET https://a.example/x/y", "Cookie: id=1")); got.Header.Get("Set-Cookie") != "" {
		t.Errorf("a client with the cookie gets %v", got.Header)
	}
}

// TestTheYoungestAffinityWins: a Service has one cookie, which only the Ingresses with an affinity set.
func TestTheYoungestAffinityWins(t *testing.T) {
	first, second := []string{"affinity: cookie", "session-cookie-name: old"}, []string{
		"affinity: cookie", "session-cookie-name: new",
	}
	m := build(t, nginxmodel.Config{}, born("2020", ingress("old", "a.example", first, "/x Prefix one")),
		born("2024", ingress("young", "b.example", second, "/y Prefix one")),
		ingress("none", "c.example", nil, "/z Prefix one"))
	for target, want := range map[string]string{
		"a.example/x": "new=0; Path=/x; HttpOnly", "b.example/y": "new=0; Path=/y; HttpOnly", "c.example/z": "",
	} {
		if got := ask(t, m, request("GET http://"+target)).Header.Get("Set-Cookie"); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	all, affected := m.Interactions(), []string{"default/none", "default/old"}
	if len(all) != 1 || all[0].Cause != "default/young" || !slices.Equal(all[0].Affected, affected) {
		t.Errorf("interactions %+v", all)
	}
}

func TestRejectedIngressesAreLeftOut(t *testing.T) {
	m := build(t, nginxmodel.Config{}, ingress("one", "a.example", []string{"upstream-vhost: a b!"}, "/ Prefix one"))
	expect(t, m, map[string]string{"/": "Not Found"})
	if problems := m.Problems(); len(problems) != 1 {
		t.Errorf("problems %+v", problems)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("/a(/|$)(.*)", "/$2", "a.example", "/a/%2e%2e?x=y")
	f.Add("/(", "$1?", "*.example", "//")
	f.Fuzz(func(t *testing.T, path, target, host, requested string) {
		for _, text := range []string{path, target, host} {
			if strings.ContainsAny(text, "'\n\r\t ") || text == "" {
				return
			}
		}
		objects := ingress("one", host, []string{"rewrite-target: " + target}, path+" ImplementationSpecific one")
		m := tryBuild(t, objects)
		if m == nil {
			return
		}
		p := probe.Probe{Method: "GET", Scheme: "http", Host: host, Target: requested}
		got, err := m.Answer(t.Context(), p)
		if err != nil || got.Status < 200 || got.Status > 599 {
			t.Errorf("%s: %+v %v", p, got, err)
		}
	})
}
