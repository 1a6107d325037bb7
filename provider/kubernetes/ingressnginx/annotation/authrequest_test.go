package annotation_test

import (
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

func TestAuthRequest(t *testing.T) {
	request := func(options *annotation.Options) any { return options.AuthRequest }
	const url = "http://auth.example.com:8080/check?h=$host"
	with := func(name, value string) map[string]string { return map[string]string{"auth-url": url, name: value} }
	want := func(change func(*annotation.AuthRequest)) *annotation.AuthRequest {
		out := &annotation.AuthRequest{
			URL: url, Host: "auth.example.com", SigninParam: "rd",
			CacheDurations: []annotation.CacheDuration{{Statuses: []int{200, 202, 401}, Duration: 5 * time.Minute}},
		}
		change(out)
		return out
	}
	same := func(*annotation.AuthRequest) {}
	// row is one annotation beside auth-url.
	row := func(name, value string, verdict annotation.Verdict, change func(*annotation.AuthRequest)) reads {
		out := reads{name: name + " " + value, annotations: with(name, value)}
		if verdict != annotation.Honoured {
			out.verdicts = verdicts{name: verdict}
		}
		switch verdict {
		case denied, rejected:
			out.outcome = verdict.String()
		default:
			out.got, out.want = request, want(change)
		}
		return out
	}
	run(t, []reads{
		{name: "nothing", got: request, want: (*annotation.AuthRequest)(nil)},
		{name: "url", annotations: one("auth-url", url), got: request, want: want(same)},
		{
			name: "empty", annotations: map[string]string{"auth-url": "", "auth-method": "GET"},
			verdicts: verdicts{"auth-url": unused, "auth-method": unused}, got: request,
			want: (*annotation.AuthRequest)(nil),
		},
		{name: "no host", annotations: one("auth-url", "/check"), verdicts: verdicts{"auth-url": denied}, outcome: "denied"},
		{
			name: "two dots", annotations: one("auth-url", "http://a..b/"), verdicts: verdicts{"auth-url": denied},
			outcome: "denied",
		},
		{
			name: "comment", annotations: one("auth-url", "http://a/#;"), verdicts: verdicts{"auth-url": rejected},
			outcome: "rejected",
		},
		{
			name: "braces", annotations: one("auth-url", "http://a/${host}"), verdicts: verdicts{"auth-url": rejected},
			outcome: "rejected",
		},
		row("auth-method", "POST", annotation.Honoured, func(a *annotation.AuthRequest) { a.Method = "POST" }),
		row("auth-method", "post", denied, nil),
		row("auth-method", "GE T", denied, nil),
		row("auth-signin", "https://auth.example.com/start?rd=$request_uri", annotation.Honoured, func(a *annotation.AuthRequest) {
			a.Signin = "https://auth.example.com/start?rd=$request_uri"
		}),
		row("auth-signin", `https://a/"`, ignored, same),
		row("auth-signin-redirect-param", "next", unused, same),
		row(
			"auth-response-headers", "X-User, X-Mail,,", annotation.Honoured,
			func(a *annotation.AuthRequest) { a.ResponseHeaders = []string{"X-User", "X-Mail"} },
		),
		row("auth-response-headers", "X-User X-Mail", denied, nil),
		row("auth-response-headers", "X-User: a", denied, nil),
		row(
			"auth-request-redirect", "https://a/b", annotation.Different,
			func(a *annotation.AuthRequest) { a.RequestRedirect = "https://a/b" },
		),
		row("auth-request-redirect", "$host", denied, nil).closes(),
		row("auth-proxy-set-headers", "shop/headers", annotation.Honoured, func(a *annotation.AuthRequest) {
			a.ProxySetHeaders = &annotation.Reference{Namespace: "shop", Name: "headers"}
		}),
		row("auth-proxy-set-headers", "headers", denied, nil),
		row("auth-proxy-set-headers", "bank/headers", denied, nil),
		row("auth-proxy-set-headers", "$x", denied, nil).closes(),
		row(
			"auth-always-set-cookie", "true", annotation.Honoured,
			func(a *annotation.AuthRequest) { a.AlwaysSetCookie = true },
		),
		row("auth-always-set-cookie", "on", denied, nil).closes(),
		row("auth-keepalive", "5", unused, same),
		row("auth-keepalive-share-vars", "x", ignored, same),
		row("auth-snippet", "proxy_set_header a b;", unsupported, func(a *annotation.AuthRequest) { a.Snippet = true }),
		row(
			"auth-cache-key", "$remote_user$http_authorization", annotation.Different,
			func(a *annotation.AuthRequest) { a.CacheKey = "$remote_user$http_authorization" },
		),
		row("auth-cache-key", "a b;", ignored, same),
		row("auth-cache-duration", "5m", unused, func(a *annotation.AuthRequest) {
			a.CacheDurations = []annotation.CacheDuration{{Duration: 5 * time.Minute}}
		}),
		row("auth-cache-duration", "200 10ms, any 2w,", unused, func(a *annotation.AuthRequest) {
			a.CacheDurations = []annotation.CacheDuration{
				{Statuses: []int{200}, Duration: 10 * time.Millisecond}, {Any: true, Duration: 14 * 24 * time.Hour},
			}
		}),
		row("auth-cache-duration", "5m 200", denied, nil),
		row("auth-cache-duration", "200", denied, nil),
		row("auth-cache-duration", "1h 30m", rejected, nil),
		row("auth-cache-duration", "2000 1h", rejected, nil),
		row("auth-cache-duration", "200 1h;", denied, nil).closes(),
	})
	options, findings := read(t, map[string]string{
		"auth-url": url, "auth-signin": "https://a/", "auth-signin-redirect-param": "next", "auth-cache-key": "$host",
		"auth-cache-duration": "99999999999y",
	})
	if options.AuthRequest.SigninParam != "next" || options.AuthRequest.CacheDurations[0].Duration < 99*365*24*time.Hour ||
		findings["auth-cache-duration"].Verdict != different {
		t.Errorf("%+v, %v", options.AuthRequest, findings)
	}
}

func TestGlobalAuth(t *testing.T) {
	settings, _ := annotation.ReadConfigMap("nginx", map[string]string{"global-auth-url": "nonsense"})
	for name, row := range map[string]struct {
		annotations map[string]string
		denied      bool
	}{
		"none":       {nil, true},
		"exempt":     {one("enable-global-auth", "false"), false},
		"no switch":  {one("enable-global-auth", "off"), true},
		"one's own":  {one("auth-url", "http://auth/"), false},
		"an old one": {one("auth-url", ""), true},
	} {
		options, _ := readWith(t, settings, row.annotations)
		if got := options.Denied+options.Closed != ""; got != row.denied {
			t.Errorf("%s: denied is %t: %q", name, got, options.Denied+options.Closed)
		}
	}
}
