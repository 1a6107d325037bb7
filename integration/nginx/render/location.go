package render

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The forms of sizes.
var (
	sizeForm   = regexp.MustCompile(`^\d+[kKmM]?$`)
	offsetForm = regexp.MustCompile(`^\d+[kKmMgG]?$`)
)

// name returns how the location is chosen.
func (l *location) name(regular bool) string {
	path := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(l.path)
	switch {
	case regular:
		return `~* "^` + path + `"`
	case l.exact:
		return `= "` + path + `"`
	default:
		return `"` + path + `"`
	}
}

// location writes a location. The directives are in the order of the controller's template, which decides in the
// rewrite phase.
func (r *renderer) location(t *text, s *server, l *location) {
	o := l.options
	t.line("location %s {", l.name(s.regular()))
	r.variables(t, l)
	t.line("port_in_redirect %s;", onOff(o.on("use-port-in-redirects", r.settings.flag("use-port-in-redirects"))))
	t.line("proxy_hide_header Strict-Transport-Security;\nadd_header Strict-Transport-Security %s always;",
		r.variable("hsts"))
	if o.denied != "" {
		t.line("# %s", strings.NewReplacer("\n", " ").Replace(o.denied))
		t.line("return 503;\n}")
		return
	}
	if o.text("mirror-target", "") != "" {
		t.line("mirror %s;\nmirror_request_body %s;", mirrorName(l), o.text("mirror-request-body", "on"))
	}
	for _, network := range o.access.denied {
		t.line("deny %s;", network)
	}
	for _, network := range o.access.allowed {
		t.line("allow %s;", network)
	}
	if len(o.access.allowed) > 0 {
		t.line("deny all;")
	}
	o.cors.write(t)
	r.authentication(t, l)
	r.limit(t, l)
	r.body(t, o)
	r.fields(t, s, l)
	r.proxy(t, o)
	r.responses(t, l)
	if r.settings.flag("allow-snippet-annotations") {
		t.line("%s", o.text("configuration-snippet", ""))
	}
	if o.redirect.target != "" {
		t.line("return %d %s;", o.redirect.code, o.redirect.target)
	}
	r.secure(t, s, l)
	r.pass(t, l)
	o.upstreamTLS.write(t, r, "location-"+l.ingress.Namespace+"-"+l.ingress.Name)
	t.line("}")
}

// variables writes what other directives and error pages use.
func (r *renderer) variables(t *text, l *location) {
	t.line("set $namespace %s;\nset $ingress_name %s;", quote(l.ingress.Namespace), quote(l.ingress.Name))
	service, port := l.backend.service, l.backend.port
	t.line("set $service_name %s;\nset $service_port %s;", quote(service), quote(port))
	t.line("set $pass_access_scheme $scheme;")
	if r.settings.flag("use-proxy-protocol") {
		t.line("set $pass_server_port $proxy_protocol_server_port;")
		t.line("if ($proxy_protocol_server_port = 443) { set $pass_access_scheme https; }")
	} else {
		t.line("set $pass_server_port %s;\nif ($https) { set $pass_server_port 443; }", r.port("--http-port", "80"))
	}
	t.line("set $best_http_host $http_host;")
	if r.settings.flag("use-forwarded-headers") {
		t.line("if ($http_x_forwarded_proto) { set $pass_access_scheme $http_x_forwarded_proto; }")
		t.line("if ($http_x_forwarded_port) { set $pass_server_port $http_x_forwarded_port; }")
		t.line("if ($http_x_forwarded_host ~ \"^([^,]+)\") { set $best_http_host $1; }")
	}
}

// authentication writes the access phase of credentials, unless the path is excepted.
func (r *renderer) authentication(t *text, l *location) {
	if r.settings.listed("no-auth-locations", l.path) {
		return
	}
	a, o := r.auth(l), l.options
	if path := r.authPath(l); path != "" {
		t.line("auth_request %s;\nauth_request_set $auth_cookie $upstream_http_set_cookie;", path)
		t.line("add_header Set-Cookie $auth_cookie%s;", map[bool]string{true: " always"}[a.always])
		for i, field := range a.headers {
			variable := strings.ToLower(strings.ReplaceAll(field, "-", "_"))
			t.line("auth_request_set $authHeader%d $upstream_http_%s;", i, variable)
			t.line("%s '%s' $authHeader%d;", directive(o), field, i)
		}
	}
	if a.signin != "" {
		t.line("error_page 401 = %s;", r.signinName(l))
	}
	if o.values["auth-type"] != "" {
		t.line("auth_basic %s;", quote(o.basic.realm))
		t.line("auth_basic_user_file %s;", r.file("users-"+l.ingress.Namespace+"-"+l.ingress.Name, o.basic.users))
		t.line("%s Authorization '';", directive(o))
	}
}

// signinLocation writes the redirect to the sign-in page.
func (r *renderer) signinLocation(t *text, l *location) {
	a := r.auth(l)
	if a.signin == "" || l.options.denied != "" {
		return
	}
	t.line("location %s {\ninternal;\nadd_header Set-Cookie $auth_cookie;", r.signinName(l))
	l.options.cors.write(t)
	l.options.cors.fieldsOf(t)
	t.line("return 302 %s;\n}", r.signin(a))
}

func (r *renderer) limit(t *text, l *location) {
	limit, name := l.options.limit, r.limitName(l)
	if limit.connections > 0 {
		t.line("limit_conn %s_conn %d;", name, limit.connections)
	}
	if limit.rps > 0 {
		t.line("limit_req zone=%s_rps burst=%d nodelay;", name, limit.rps*limit.multiplier)
	}
	if limit.rpm > 0 {
		t.line("limit_req zone=%s_rpm burst=%d nodelay;", name, limit.rpm*limit.multiplier)
	}
	if limit.after > 0 {
		t.line("limit_rate_after %dk;", limit.after)
	}
	if limit.rate > 0 {
		t.line("limit_rate %dk;", limit.rate)
	}
}

// body writes the limits of bodies. A size that is none is left out.
func (r *renderer) body(t *text, o *options) {
	if size := o.text("proxy-body-size", r.settings.text("proxy-body-size", "1m")); offsetForm.MatchString(size) {
		t.line("client_max_body_size %s;", size)
	}
	if size := o.text("client-body-buffer-size", ""); sizeForm.MatchString(size) {
		t.line("client_body_buffer_size %s;", size)
	}
}

// directive returns the directive of request fields.
func directive(o *options) string {
	switch strings.ToUpper(o.values["backend-protocol"]) {
	case "GRPC", "GRPCS":
		return "grpc_set_header"
	default:
		return "proxy_set_header"
	}
}

func (r *renderer) forwardedFor() string {
	if r.settings.flag("use-forwarded-headers") && r.settings.flag("compute-full-forwarded-for") {
		return r.variable("full_x_forwarded_for")
	}
	return "$remote_addr"
}

// fields writes the fields of the request to the endpoint.
func (r *renderer) fields(t *text, s *server, l *location) {
	o, set := l.options, directive(l.options)
	host := "$best_http_host"
	if value := o.text("upstream-vhost", ""); value != "" {
		host = quote(value)
	}
	t.line("%s Host %s;", set, host)
	s.clientFields(t, set)
	connection := r.variable("connection_upgrade")
	if value := o.text("connection-proxy-header", ""); value != "" {
		connection = value
	}
	t.line("%s Upgrade $http_upgrade;\n%s Connection %s;", set, set, connection)
	t.line("%s X-Request-ID %s;\n%s X-Real-IP $remote_addr;", set, r.variable("req_id"), set)
	t.line("%s X-Forwarded-For %s;\n%s X-Forwarded-Host $best_http_host;", set, r.forwardedFor(), set)
	t.line("%s X-Forwarded-Port $pass_server_port;\n%s X-Forwarded-Proto $pass_access_scheme;", set, set)
	t.line("%s X-Forwarded-Scheme $pass_access_scheme;\n%s X-Scheme $pass_access_scheme;", set, set)
	if r.settings.flag("proxy-add-original-uri-header") {
		t.line("%s X-Original-URI $request_uri;", set)
	}
	t.line("%s X-Original-Forwarded-For $http_x_forwarded_for;", set)
	t.line("%s X-Original-Forwarded-Host $http_x_forwarded_host;\n%s Proxy '';", set, set)
	for field, value := range r.configMap("proxy-set-headers") {
		t.line("%s %s %s;", set, field, quote(value))
	}
	t.line("%s %s %s;", set, FieldService, r.reached(l).key())
	if b := r.reached(l); b != l.backend && b.service != nowhere {
		t.line("proxy_set_header X-Code 503;")
		r.errorFields(t)
	}
}

// proxy writes time-outs, buffers and attempts.
func (r *renderer) proxy(t *text, o *options) {
	value := func(key, otherwise string) string { return o.text(key, r.settings.text(key, otherwise)) }
	for _, name := range []string{"connect", "send", "read"} {
		otherwise := map[string]string{"connect": "5"}[name]
		if otherwise == "" {
			otherwise = "60"
		}
		seconds := value("proxy-"+name+"-timeout", otherwise)
		t.line("proxy_%s_timeout %ss;", name, seconds)
		if directive(o) == "grpc_set_header" {
			t.line("grpc_%s_timeout %ss;", name, seconds)
		}
	}
	t.line("proxy_buffering %s;\nproxy_buffer_size %s;", value("proxy-buffering", "off"), value("proxy-buffer-size", "4k"))
	t.line("proxy_buffers %s %s;", value("proxy-buffers-number", "4"), value("proxy-buffer-size", "4k"))
	if size := value("proxy-busy-buffers-size", ""); size != "" {
		t.line("proxy_busy_buffers_size %s;", size)
	}
	if size := value("proxy-max-temp-file-size", "1024m"); offsetForm.MatchString(size) {
		t.line("proxy_max_temp_file_size %s;", size)
	}
	t.line("proxy_request_buffering %s;", value("proxy-request-buffering", "on"))
	t.line("proxy_http_version %s;", value("proxy-http-version", "1.1"))
	t.line("proxy_cookie_domain %s;", value("proxy-cookie-domain", "off"))
	t.line("proxy_cookie_path %s;", value("proxy-cookie-path", "off"))
	next := slices.DeleteFunc(strings.Fields(value("proxy-next-upstream", "error timeout")), func(word string) bool {
		return word == "non_idempotent"
	})
	if r.settings.flag("retry-non-idempotent") || strings.Contains(value("proxy-next-upstream", ""), "non_idempotent") {
		next = append(next, "non_idempotent")
	}
	t.line("proxy_next_upstream %s;", strings.Join(next, " "))
	t.line("proxy_next_upstream_timeout %s;", value("proxy-next-upstream-timeout", "0"))
	t.line("proxy_next_upstream_tries %s;", value("proxy-next-upstream-tries", "3"))
}

// responses writes what is done with responses.
func (r *renderer) responses(t *text, l *location) {
	o := l.options
	for _, field := range r.settings.list("hide-headers") {
		t.line("proxy_hide_header %s;", field)
	}
	o.cors.fieldsOf(t)
	for _, fields := range []map[string]string{r.configMap("add-headers"), o.customHeaders} {
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			t.line("proxy_hide_header %s;", field)
			value := strings.ReplaceAll(quote(fields[field]), "$", "${"+r.variable("literal_dollar")[1:]+"}")
			t.line("add_header %s %s always;", field, value)
		}
	}
	if mode := o.values["satisfy"]; mode == "any" || mode == "all" {
		t.line("satisfy %s;", mode)
	}
	if o.redirect.relative {
		t.line("absolute_redirect off;")
	}
	if len(o.errors) > 0 && !o.on("disable-proxy-intercept-errors", false) {
		t.line("proxy_intercept_errors on;")
	}
	for _, status := range o.errors {
		t.line("error_page %s = %s;", status, r.pageName(l, status))
	}
}

// configMap returns the content of the ConfigMap that a setting names.
func (r *renderer) configMap(key string) map[string]string {
	for _, config := range r.State.Objects.ConfigMaps {
		if config.Namespace+"/"+config.Name == r.settings.text(key, "") {
			return config.Data
		}
	}
	return nil
}

// secure writes the redirect to https. The controller does it at the end of the rewrite phase, so that it stands in
// front of the rewriting, which ends that phase, and behind everything else.
func (r *renderer) secure(t *text, s *server, l *location) {
	o := l.options
	if !o.force && (!o.secure || !s.tls) || r.settings.listed("no-tls-redirect-locations", l.path) {
		return
	}
	t.line("set $secure_uri $request_uri;\nset $secure_host $best_http_host;")
	if !o.preserve {
		t.line("if ($request_uri ~ \"^(.*)/$\") { set $secure_uri $1; }")
	}
	t.line("if ($best_http_host ~ \"^([^:]*):\") { set $secure_host $1; }")
	if o.on("use-port-in-redirects", false) {
		t.line("set $secure_host $secure_host:%s;", r.port("--https-port", "443"))
	}
	t.line("if ($pass_access_scheme = http) { return %d https://$secure_host$secure_uri; }",
		r.settings.number("http-redirect-code", 308))
}

// nowhere stands for a Service whose name must not be resolved.
const nowhere = "-"

// endpoints returns the number of a Service's endpoints.
func (r *renderer) endpoints(b backend) int {
	if s, ok := r.State.Servers[b.key()]; ok {
		return s.Endpoints
	}
	return 1
}

// reached returns the Service that requests reach: that of the annotation where the location's own has no endpoints.
func (r *renderer) reached(l *location) backend {
	if name := l.options.text("default-backend", ""); name != "" && r.endpoints(l.backend) == 0 {
		if own := (backend{l.ingress.Namespace, name, "80"}); r.endpoints(own) > 0 {
			return own
		}
	}
	if r.settings.given("--disable-svc-external-name") && r.resolved(l.backend) {
		return backend{service: nowhere}
	}
	return l.backend
}

// resolved reports whether the endpoint of a Service is a name.
func (r *renderer) resolved(b backend) bool {
	return slices.ContainsFunc(r.State.Objects.Services, func(s *corev1.Service) bool {
		return s.Namespace == b.namespace && s.Name == b.service && s.Spec.Type == corev1.ServiceTypeExternalName
	})
}

// pass writes where requests go to.
func (r *renderer) pass(t *text, l *location) {
	o := l.options
	if target := o.target; target != "" && target != l.path && l.backend.service != "" {
		path := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(l.path)
		t.line("rewrite \"(?i)%s\" %s break;", path, target)
		if value := o.text("x-forwarded-prefix", ""); value != "" {
			t.line("%s X-Forwarded-Prefix %s;", directive(o), quote(value))
		}
	}
	plain, secure := "backend_"+r.Prefix, "backend_tls_"+r.Prefix
	switch strings.ToUpper(o.values["backend-protocol"]) {
	case "HTTPS":
		t.line("proxy_pass https://%s;", secure)
	case "AUTO_HTTP":
		t.line("set $backend_address %s;\nif ($https) { set $backend_address %s; }", plain, secure)
		t.line("proxy_pass $scheme://$backend_address;")
	case "GRPC":
		t.line("grpc_pass grpc://%s;", plain)
	case "GRPCS":
		t.line("grpc_pass grpcs://%s;", secure)
	default:
		t.line("proxy_pass http://%s;", plain)
	}
	from, to := o.text("proxy-redirect-from", r.settings.text("proxy-redirect-from", "off")),
		o.text("proxy-redirect-to", r.settings.text("proxy-redirect-to", "off"))
	switch {
	case from == "off" || from == "default":
		t.line("proxy_redirect %s;", from)
	case to != "off":
		t.line("proxy_redirect %s %s;", from, to)
	}
}
