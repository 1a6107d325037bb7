package render

import (
	"encoding/base64"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
)

// Namespace is that of the Kubernetes API.
type Namespace = corev1.Namespace

// auth is an external authentication.
type auth struct {
	url, method, signin, parameter, redirect, cacheKey string
	host                                               string
	headers, durations                                 []string
	set                                                map[string]string
	always                                             bool
}

// readAuth reads the annotations of external authentication. A URL that cannot be read denies the location.
func (o *options) readAuth(ingress *networkingv1.Ingress, state *cases.State) {
	target, ok := o.values["auth-url"]
	if !ok {
		return
	}
	host, err := hostOf(target)
	if err != "" {
		o.deny("could not parse auth-url annotation: %s", err)
		return
	}
	o.auth = auth{
		url: target, host: host, method: o.text("auth-method", ""), signin: o.text("auth-signin", ""),
		parameter: o.text("auth-signin-redirect-param", ""), redirect: o.text("auth-request-redirect", ""),
		cacheKey: o.text("auth-cache-key", ""), durations: split(o.text("auth-cache-duration", "200 202 401 5m")),
		headers: split(o.text("auth-response-headers", "")), always: o.on("auth-always-set-cookie", false),
	}
	key := o.text("auth-proxy-set-headers", "")
	if key == "" {
		return
	}
	namespace, name := named(ingress.Namespace, key)
	if namespace != ingress.Namespace {
		o.deny("auth-proxy-set-headers is in another namespace")
	}
	at := slices.IndexFunc(state.Objects.ConfigMaps, func(c *corev1.ConfigMap) bool {
		return c.Namespace == namespace && c.Name == name
	})
	if at < 0 {
		o.deny("there is no ConfigMap %s", key)
		return
	}
	o.auth.set = state.Objects.ConfigMaps[at].Data
}

// hostOf returns the host of a URL, or what is wrong with it.
func hostOf(target string) (host, wrong string) {
	parsed, err := url.Parse(target)
	switch {
	case err != nil:
		return "", err.Error()
	case parsed.Scheme == "":
		return "", "url scheme is empty"
	case parsed.Host == "":
		return "", "url host is empty"
	case strings.Contains(parsed.Host, ".."):
		return "", "invalid url host"
	default:
		return parsed.Host, ""
	}
}

// auth returns the external authentication of a location: its own, or the global one.
func (r *renderer) auth(l *location) auth {
	global := r.settings.text("global-auth-url", "")
	if l.options.auth.url != "" || global == "" || !l.options.on("enable-global-auth", true) {
		return l.options.auth
	}
	host, _ := hostOf(global)
	return auth{
		url: global, host: host, method: r.settings.text("global-auth-method", ""),
		signin:    r.settings.text("global-auth-signin", ""),
		parameter: r.settings.text("global-auth-signin-redirect-param", ""),
		redirect:  r.settings.text("global-auth-request-redirect", ""),
		cacheKey:  r.settings.text("global-auth-cache-key", ""),
		durations: split(r.settings.text("global-auth-cache-duration", "200 202 401 5m")),
		headers:   r.settings.list("global-auth-response-headers"),
		always:    r.settings.flag("global-auth-always-set-cookie"),
	}
}

// authPath returns the path of the subrequest of a location; empty without one.
func (r *renderer) authPath(l *location) string {
	if r.auth(l).url == "" {
		return ""
	}
	kind := "Prefix"
	if l.exact {
		kind = "Exact"
	}
	return "/_external-auth-" + base64.RawURLEncoding.EncodeToString([]byte(l.path)) + "-" + kind
}

// signinName returns the name of the location that redirects to the sign-in page.
func (r *renderer) signinName(l *location) string {
	return "@signin_" + base64.RawURLEncoding.EncodeToString([]byte(l.path+r.authPath(l)))
}

// signin returns where requests without authentication are redirected to.
func (r *renderer) signin(a auth) string {
	parameter := a.parameter
	if parameter == "" {
		parameter = "rd"
	}
	back := parameter + "=$pass_access_scheme://$http_host" + r.variable("escaped_request_uri")
	parsed, err := url.Parse(a.signin)
	switch {
	case err != nil:
		return ""
	case len(parsed.Query()) == 0:
		return a.signin + "?" + back
	case parsed.Query().Get(parameter) != "":
		return a.signin
	default:
		return a.signin + "&" + back
	}
}

// authLocation writes the location of the subrequest.
func (r *renderer) authLocation(t *text, s *server, l *location) {
	a, path := r.auth(l), r.authPath(l)
	if path == "" {
		return
	}
	t.line("location = %s {", path)
	t.line("internal;")
	if a.cacheKey != "" {
		t.line("set $tmp_cache_key '%s%s%s';", s.name, path, a.cacheKey)
		t.line("proxy_cache auth_%s;", r.Prefix)
		for _, duration := range a.durations {
			t.line("proxy_cache_valid %s;", duration)
		}
		t.line("proxy_cache_key $tmp_cache_key;")
	}
	t.line("proxy_intercept_errors off;\nproxy_pass_request_body off;")
	t.line("proxy_set_header Content-Length '';\nproxy_set_header X-Forwarded-Proto '';")
	t.line("proxy_set_header X-Request-ID %s;", r.variable("req_id"))
	if a.method != "" {
		t.line("proxy_method %s;\nproxy_set_header X-Original-URI $request_uri;", a.method)
		t.line("proxy_set_header X-Scheme $pass_access_scheme;")
	}
	name, _, _ := strings.Cut(a.host, ":")
	t.line("proxy_set_header Host %s;", name)
	t.line("proxy_set_header X-Original-URL $scheme://$http_host$request_uri;")
	t.line("proxy_set_header X-Original-Method $request_method;")
	t.line("proxy_set_header X-Sent-From nginx-ingress-controller;")
	t.line("proxy_set_header X-Real-IP $remote_addr;")
	t.line("proxy_set_header X-Forwarded-For %s;", r.forwardedFor())
	redirect := a.redirect
	if redirect == "" {
		redirect = "$request_uri"
	}
	t.line("proxy_set_header X-Auth-Request-Redirect %s;", redirect)
	if a.cacheKey != "" {
		t.line("proxy_buffering on;")
	} else {
		t.line("proxy_buffering %s;", l.options.text("proxy-buffering", r.settings.text("proxy-buffering", "off")))
	}
	t.line("client_max_body_size %s;", l.options.text("proxy-body-size", r.settings.text("proxy-body-size", "1m")))
	s.clientFields(t, "proxy_set_header")
	for field, value := range a.set {
		t.line("proxy_set_header %s %s;", quote(field), quote(value))
	}
	t.line("proxy_set_header %s %s;", FieldOutside, name)
	t.line("proxy_http_version 1.1;")
	t.line("set $target %s;", quote(r.external(a.url)))
	t.line("proxy_pass $target;\n}")
}

// external defines the server of a URL, and returns the URL. A variable as host is left alone.
func (r *renderer) external(target string) string {
	host, wrong := hostOf(target)
	if wrong != "" || strings.Contains(host, "$") {
		return target
	}
	own := strings.NewReplacer(":", "-").Replace(host) + "." + r.Prefix
	if !slices.Contains(r.outside, own) {
		r.outside = append(r.outside, own)
		address := r.Backend
		if strings.HasPrefix(target, "https:") {
			address = r.BackendTLS
		}
		r.http.line("upstream %s { server %s; }", own, address)
	}
	return strings.Replace(target, "//"+host, "//"+own, 1)
}

// address reports whether a text is an address or a network.
func address(value string) bool {
	if _, err := netip.ParseAddr(value); err == nil {
		return true
	}
	_, err := netip.ParsePrefix(value)
	return err == nil
}
