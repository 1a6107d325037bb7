package nginx_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/integration/nginx"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/telemetry"
)

// accessUsers are hashes that nginx and basicAuth with allHashes take for the same: the password is "secret".
const accessUsers = `plain:{PLAIN}secret
salted:{SSHA}UgCJjM+VJJYduihDuk0aPpDtY9RzYWx0eQ==
sha256:$5$rounds=1234$longsaltstring16$vePUqwpu18lfqkpASmqLHPSUy23xYrbxCk0qwthLcKD
sha512:$6$saltstring12$1egWRZmzdgoxGJp76tchjgNvzDUumSWToSeZPzXWezgXmy6Nk93N1MO1l8r6rG3FMPce.GT1v0tdAmnGqyhV01:comment
`

// accessed is what a client gets, and what the backend has got.
type accessed struct {
	Status                        int
	Challenges, Location, Cookies []string
	User                          string
}

// accessDecides is the server of auth_request: the request says what it answers.
func accessDecides(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	_, _ = fmt.Sscan(r.Header.Get("X-Answer"), &status)
	w.Header().Set("Set-Cookie", "auth=1")
	w.Header().Set("Www-Authenticate", "Bearer")
	w.Header().Set("X-User", "bob")
	w.Header().Set("X-Asked", r.Header.Get("X-Original-Url")+" "+r.Method)
	w.WriteHeader(status)
}

// accessServes is the backend.
func accessServes(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	_, _ = fmt.Sscan(r.Header.Get("X-Serve"), &status)
	w.Header().Set("X-Got", r.Header.Get("X-User")+"|"+r.Header.Get("X-Asked")+"|"+r.Header.Get("Authorization"))
	w.WriteHeader(status)
}

// accessLocations are the directives of a location, and the middlewares that stand for it, by its path.
func accessLocations(server, users string) map[string]struct {
	directives string
	members    []dynamic.Middleware
	any        bool
} {
	const asks = "auth_request /decide; auth_request_set $user $upstream_http_x_user; auth_request_set $asked " +
		"$upstream_http_x_asked; auth_request_set $cookie $upstream_http_set_cookie; proxy_set_header X-User $user; " +
		"proxy_set_header X-Asked $asked; "
	basic := "auth_basic traefik; auth_basic_user_file " + users + "; proxy_set_header Authorization \"\"; "
	const here, elsewhere = "allow 192.0.2.0/24; deny all; ", "allow 198.51.100.0/24; deny all; "
	list := func(source string) dynamic.Middleware {
		return dynamic.Middleware{IPAllowList: &dynamic.IPAllowList{SourceRange: []string{source}}}
	}
	denies := func(source string) dynamic.Middleware {
		return dynamic.Middleware{IPDenyList: &dynamic.IPDenyList{SourceRange: []string{source}}}
	}
	requests := func(change func(*dynamic.AuthRequest)) dynamic.Middleware {
		config := &dynamic.AuthRequest{URL: server, ResponseHeaders: []string{"X-User", "X-Asked"}}
		if change != nil {
			change(config)
		}
		return dynamic.Middleware{AuthRequest: config}
	}
	password := dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{
		Users: strings.Split(strings.TrimSpace(accessUsers), "\n"), AllHashes: true, RemoveHeader: true,
	}}
	cookies := asks + "add_header Set-Cookie $cookie; "
	return map[string]struct {
		directives string
		members    []dynamic.Middleware
		any        bool
	}{
		"/deny":    {"deny 192.0.2.0/24; ", []dynamic.Middleware{denies("192.0.2.0/24")}, false},
		"/spared":  {"deny 198.51.100.0/24; ", []dynamic.Middleware{denies("198.51.100.0/24")}, false},
		"/basic":   {basic, []dynamic.Middleware{password}, false},
		"/request": {cookies, []dynamic.Middleware{requests(nil)}, false},
		"/always": {
			asks + "add_header Set-Cookie $cookie always; ",
			[]dynamic.Middleware{requests(func(a *dynamic.AuthRequest) { a.AlwaysSetCookie = true })},
			false,
		},
		"/signin": {
			cookies + "error_page 401 = @signin; ",
			[]dynamic.Middleware{requests(func(a *dynamic.AuthRequest) { a.SigninURL = "https://id.test/?rd=x" })},
			false,
		},
		"/all":        {here + basic + cookies, []dynamic.Middleware{list("192.0.2.0/24"), password, requests(nil)}, false},
		"/any":        {elsewhere + basic + cookies, []dynamic.Middleware{list("198.51.100.0/24"), password, requests(nil)}, true},
		"/anyhere":    {here + basic + cookies, []dynamic.Middleware{list("192.0.2.0/24"), password, requests(nil)}, true},
		"/anydeny":    {"deny 192.0.2.0/24; " + basic, []dynamic.Middleware{denies("192.0.2.0/24"), password}, true},
		"/anyspared":  {"deny 198.51.100.0/24; " + basic, []dynamic.Middleware{denies("198.51.100.0/24"), password}, true},
		"/anydenied":  {"deny 192.0.2.0/24; ", []dynamic.Middleware{denies("192.0.2.0/24")}, true},
		"/anyallowed": {"deny 198.51.100.0/24; ", []dynamic.Middleware{denies("198.51.100.0/24")}, true},
		"/anysignin": {
			elsewhere + cookies + "error_page 401 = @signin; ",
			[]dynamic.Middleware{
				list("198.51.100.0/24"), requests(func(a *dynamic.AuthRequest) { a.SigninURL = "https://id.test/?rd=x" }),
			},
			true,
		},
	}
}

// TestAccess has nginx and the middlewares decide about the same requests.
func TestAccess(t *testing.T) {
	p := nginx.Start(t, nginx.Options{})
	users := p.Socket("users")
	if err := os.WriteFile(users, []byte(accessUsers), 0o600); err != nil {
		t.Fatal(err)
	}
	decides := httptest.NewServer(http.HandlerFunc(accessDecides))
	t.Cleanup(decides.Close)
	serves := httptest.NewServer(http.HandlerFunc(accessServes))
	t.Cleanup(serves.Close)
	var config strings.Builder
	_, _ = fmt.Fprintf(&config, `server {
  listen unix:%s; set_real_ip_from unix:; real_ip_header X-Client;
  location = /decide { internal; proxy_pass %s/; proxy_pass_request_body off; proxy_set_header Content-Length "";
    proxy_set_header X-Original-Url $scheme://$http_host$request_uri; }
  location @signin { add_header Set-Cookie $cookie; return 302 https://id.test/?rd=x; }
`, p.Socket("web"), decides.URL)
	locations := accessLocations(decides.URL, users)
	for path, location := range locations {
		satisfy := ""
		if location.any {
			satisfy = "satisfy any; "
		}
		_, _ = fmt.Fprintf(&config, "  location %s { %s%sproxy_pass %s; }\n", path, satisfy, location.directives, serves.URL)
	}
	_, _ = config.WriteString("}\n")
	if err := p.Reload(config.String()); err != nil {
		t.Fatal(err)
	}
	client := p.Client("web")
	for path, location := range locations {
		handler := accessHandler(t, location.members, location.any)
		for _, headers := range accessRequests() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://a.test"+path+"?b=c",
				strings.NewReader("body"))
			r.RemoteAddr = "192.0.2.1:1234"
			for name, value := range headers {
				r.Header.Set(name, value)
			}
			want := accessOfNginx(t, client, path, headers)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), &telemetry.Record{})))
			if diff := cmp.Diff(want, accessOf(w.Result())); diff != "" {
				t.Errorf("%s %v (-nginx +Sluice):\n%s", path, headers, diff)
			}
		}
	}
}

// accessRequests are the headers of requests.
func accessRequests() []map[string]string {
	all := []map[string]string{{}, {"Authorization": "Basic cGxhaW46d3Jvbmc="}, {"Authorization": "Bearer x"}}
	for _, credentials := range []string{
		"cGxhaW46c2VjcmV0", "c2FsdGVkOnNlY3JldA==", "c2hhMjU2OnNlY3JldA==", "c2hhNTEyOnNlY3JldA==", "c2hhNTEyOlNlY3JldA==",
	} {
		all = append(all, map[string]string{"Authorization": "Basic " + credentials, "X-Answer": "403"})
	}
	for _, answer := range []string{"200", "204", "299", "302", "400", "401", "403", "404", "500", "503"} {
		all = append(all, map[string]string{"X-Answer": answer}, map[string]string{"X-Answer": answer, "X-Serve": "500"},
			map[string]string{"X-Answer": answer, "X-User": "forged", "Authorization": "Basic cGxhaW46c2VjcmV0"})
	}
	for _, served := range []string{"201", "202", "204", "206", "301", "304", "307", "308", "404"} {
		all = append(all, map[string]string{"X-Serve": served})
	}
	return all
}

func accessOfNginx(t *testing.T, client *http.Client, path string, headers map[string]string) accessed {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a.test"+path+"?b=c",
		strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Client", "192.0.2.1")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return accessOf(response)
}

func accessOf(response *http.Response) accessed {
	challenges := response.Header["Www-Authenticate"]
	for i, challenge := range challenges {
		challenges[i] = strings.TrimSuffix(challenge, `, charset="UTF-8"`) // RFC 7617 section 2.1: nginx says nothing.
	}
	return accessed{
		Status: response.StatusCode, Challenges: challenges, Location: response.Header["Location"],
		Cookies: response.Header["Set-Cookie"], User: response.Header.Get("X-Got"),
	}
}

// accessHandler returns the middlewares in front of the backend, in their order or with one that is enough.
func accessHandler(t *testing.T, members []dynamic.Middleware, enough bool) http.Handler {
	t.Helper()
	builder := middleware.NewBuilder(middleware.Options{})
	t.Cleanup(builder.Close)
	named := middleware.References{}
	build := func(name string, definition dynamic.Middleware) middleware.Middleware {
		step, err := builder.Build(name, &definition, named, &middleware.Reads{})
		if err != nil {
			t.Fatal(err)
		}
		if closer, ok := step.(middleware.Closer); ok {
			t.Cleanup(closer.Close)
		}
		return step
	}
	handler := http.Handler(http.HandlerFunc(accessServes))
	if !enough {
		for i := len(members) - 1; i >= 0; i-- {
			handler = build(fmt.Sprint("m", i, "@file"), members[i]).Wrap(handler)
		}
		return handler
	}
	all := &dynamic.SatisfyAny{}
	steps := map[string]middleware.Middleware{}
	for i, member := range members {
		name := fmt.Sprint("m", i, "@file")
		steps[name] = build(name, member)
		all.Middlewares = append(all.Middlewares, name)
	}
	named.Middleware = func(name string) ([]middleware.Middleware, error) {
		return []middleware.Middleware{steps[name]}, nil
	}
	return build("any@file", dynamic.Middleware{SatisfyAny: all}).Wrap(handler)
}
