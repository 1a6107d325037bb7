package render

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// listen writes the two listeners of a server, and where requests come from.
func (r *renderer) listen(t *text, name string, certificate PEM) {
	fallback := ""
	if name == catchAll {
		fallback = " default_server"
	}
	t.line("listen %s proxy_protocol%s;\nlisten %s http2 proxy_protocol%s;", r.HTTP, fallback, r.H2C, fallback)
	if r.settings.on("use-http2", true) {
		t.line("listen %s ssl http2 proxy_protocol%s;", r.HTTPS, fallback)
	} else {
		t.line("listen %s ssl proxy_protocol%s;", r.HTTPS, fallback)
	}
	sum := sha256.Sum256([]byte(certificate.Certificate))
	file := r.file("server-"+hex.EncodeToString(sum[:6])+".pem", certificate.Certificate)
	t.line("ssl_certificate %s;\nssl_certificate_key %s;", file, file)
	t.line("ssl_protocols %s;", r.settings.text("ssl-protocols", "TLSv1.2 TLSv1.3"))
	field := "proxy_protocol"
	switch {
	case r.settings.flag("use-proxy-protocol"):
	case r.settings.flag("use-forwarded-headers"), r.settings.flag("enable-real-ip"):
		field = r.settings.text("forwarded-for-header", "X-Forwarded-For")
		for _, network := range split(r.settings.text("proxy-real-ip-cidr", "0.0.0.0/0")) {
			t.line("set_real_ip_from %s;", network)
		}
	}
	t.line("real_ip_header %s;\nset_real_ip_from unix:;\nreal_ip_recursive on;", field)
}

// settingsOf writes what the controller has in the http block.
func (r *renderer) settingsOf(t *text) {
	s := r.settings
	t.line("server_tokens off;\nserver_name_in_redirect off;\nport_in_redirect off;")
	t.line("uninitialized_variable_warn off;")
	t.line("default_type text/html;")
	t.line("underscores_in_headers %s;", onOff(s.flag("enable-underscores-in-headers")))
	t.line("ignore_invalid_headers %s;", onOff(s.on("ignore-invalid-headers", true)))
	t.line("client_header_buffer_size 1k;\nlarge_client_header_buffers %s;", s.text("large-client-header-buffers", "4 8k"))
	t.line("client_body_buffer_size %s;", s.text("client-body-buffer-size", "8k"))
	t.line("limit_req_status %d;\nlimit_conn_status %d;", s.number("limit-req-status-code", 503),
		s.number("limit-conn-status-code", 503))
	if s.flag("relative-redirects") {
		t.line("absolute_redirect off;")
	}
	if s.flag("use-gzip") {
		t.line("gzip on;\ngzip_comp_level %s;\ngzip_http_version 1.1;", s.text("gzip-level", "1"))
		if pattern := s.text("gzip-disable", ""); pattern != "" {
			t.line("gzip_disable %s;", quote(pattern))
		}
		t.line("gzip_min_length %s;\ngzip_types %s;", s.text("gzip-min-length", "256"), s.text("gzip-types",
			"application/atom+xml application/javascript application/x-javascript application/json application/rss+xml "+
				"application/vnd.ms-fontobject application/x-font-ttf application/x-web-app-manifest+json "+
				"application/xhtml+xml application/xml font/opentype image/svg+xml image/x-icon text/css text/javascript "+
				"text/plain text/x-component"))
		t.line("gzip_proxied any;\ngzip_vary on;")
	}
	for _, network := range s.list("block-cidrs") {
		t.line("deny %s;", network)
	}
	if len(s.list("block-user-agents")) > 0 {
		t.line("if (%s) { return 403; }", r.variable("block_ua"))
	}
	if len(s.list("block-referers")) > 0 {
		t.line("if (%s) { return 403; }", r.variable("block_ref"))
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// twin writes the server of a name that is redirected. The port is always in the target.
func (r *renderer) twin(w twin) {
	t := r.http
	t.line("server {\nserver_name %s;", quote(w.from))
	r.listen(t, w.from, w.to.certificate)
	r.settingsOf(t)
	t.line("set $redirect_port %s;\nif ($https) { set $redirect_port %s; }", r.port("--http-port", "80"),
		r.port("--https-port", "443"))
	t.line("set $redirect_uri $request_uri;\nif ($request_uri ~ \"^(.*)/$\") { set $redirect_uri $1; }")
	t.line("set $redirect_scheme $scheme;")
	if r.settings.flag("use-forwarded-headers") {
		t.line("if ($http_x_forwarded_proto) { set $redirect_scheme $http_x_forwarded_proto; }")
		t.line("if ($http_x_forwarded_port) { set $redirect_port $http_x_forwarded_port; }")
	}
	t.line("return %d $redirect_scheme://%s:$redirect_port$redirect_uri;\n}", r.settings.number("http-redirect-code", 308),
		w.to.name)
}

func (r *renderer) port(flag, otherwise string) string {
	if port := r.settings.argument(flag); port != "" {
		return port
	}
	return otherwise
}

// server writes a server.
func (r *renderer) server(s *server) {
	t := new(text)
	t.line("server {\nserver_name %s%s;", quote(serverName(s.name)), aliases(s.aliases))
	r.listen(t, s.name, s.certificate)
	r.settingsOf(t)
	file := s.name
	if strings.ContainsAny(file, "*/") {
		file = strings.NewReplacer("*", "wildcard", "/", "-").Replace(file)
	}
	s.clientTLS.write(t, r, file)
	if s.forbidden {
		t.line("return 403;\n}")
		_, _ = r.http.WriteString(t.String()) // It never fails.
		return
	}
	s.upstreamTLS.write(t, r, file)
	ciphers := s.ciphers
	if ciphers == "" {
		ciphers = r.settings.text("ssl-ciphers", "")
	}
	if ciphers != "" {
		t.line("ssl_ciphers '%s';", ciphers)
	}
	r.pages(t, s)
	r.mirrors(t, s)
	var roots []string
	for _, l := range s.locations {
		if root := l.options.appRoot; root != "" && !slices.Contains(roots, root) {
			roots = append(roots, root)
			t.line("if ($uri = /) { return 302 $scheme://$http_host%s; }", root)
		}
	}
	for _, l := range s.locations {
		r.authLocation(t, s, l)
		r.signinLocation(t, l)
		r.location(t, s, l)
	}
	if s.name == catchAll {
		t.line("location /healthz { return 200; }")
	}
	t.line("}")
	_, _ = r.http.WriteString(t.String()) // It never fails.
}

// pages writes the locations of error pages, one for each default backend and status.
func (r *renderer) pages(t *text, s *server) {
	var seen []string
	for _, l := range s.locations {
		for _, status := range l.options.errors {
			name := r.pageName(l, status)
			if slices.Contains(seen, name) {
				continue
			}
			seen = append(seen, name)
			t.line("location %s {\ninternal;\nproxy_intercept_errors off;", name)
			t.line("proxy_set_header X-Code %s;\nproxy_set_header X-Original-URI $request_uri;", status)
			r.errorFields(t)
			t.line("proxy_set_header X-Forwarded-For $remote_addr;\nproxy_set_header Host $best_http_host;")
			t.line("proxy_set_header %s %s;", FieldService, r.pageBackend(l).key())
			t.line("rewrite (.*) / break;\nproxy_pass http://backend_%s;\n}", r.Prefix)
		}
	}
}

// errorFields writes the fields that a request to a default backend has.
func (r *renderer) errorFields(t *text) {
	t.line("proxy_set_header X-Format $http_accept;\nproxy_set_header X-Namespace $namespace;")
	t.line("proxy_set_header X-Ingress-Name $ingress_name;\nproxy_set_header X-Service-Name $service_name;")
	t.line("proxy_set_header X-Service-Port $service_port;\nproxy_set_header X-Request-ID %s;", r.variable("req_id"))
}

// pageBackend returns the Service of error pages: that of the annotation where it has endpoints, or the default one.
func (r *renderer) pageBackend(l *location) backend {
	if name := l.options.text("default-backend", ""); name != "" {
		own := backend{namespace: l.ingress.Namespace, service: name, port: "80"}
		if r.endpoints(own) > 0 {
			return own
		}
	}
	return r.defaultBackend()
}

func (r *renderer) pageName(l *location, status string) string {
	name := strings.NewReplacer("/", "-").Replace(r.pageBackend(l).key())
	return "@custom_" + name + "_" + status
}

// mirrors writes the locations of copies, one for each Ingress.
func (r *renderer) mirrors(t *text, s *server) {
	var seen []string
	for _, l := range s.locations {
		target, name := l.options.text("mirror-target", ""), mirrorName(l)
		if target == "" || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		authority, _ := hostOf(strings.ReplaceAll(target, "$request_uri", ""))
		host, _, _ := strings.Cut(authority, ":")
		t.line("location = %s {\ninternal;\nproxy_set_header Host %s;", name, quote(l.options.text("mirror-host", host)))
		t.line("proxy_set_header %s %s;\nproxy_pass %s;\n}", FieldOutside, host, quote(r.externalMirror(target, authority)))
	}
}

// externalMirror defines the server of a mirror's URL, whose path may have variables.
func (r *renderer) externalMirror(target, authority string) string {
	scheme, _, _ := strings.Cut(target, "://")
	own := r.external(scheme + "://" + authority)
	return strings.Replace(target, scheme+"://"+authority, own, 1)
}

func mirrorName(l *location) string { return "/_mirror-" + l.ingress.Namespace + "-" + l.ingress.Name }

// serverName returns the name of a host in nginx's form: a wildcard is for one label.
func serverName(host string) string {
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		return `~^(?<subdomain>[\w-]+)\.` + strings.ReplaceAll(rest, ".", `\.`) + "$"
	}
	return host
}

func aliases(names []string) string {
	var all strings.Builder
	for _, name := range names {
		_, _ = all.WriteString(" " + quote(name)) // It never fails.
	}
	return all.String()
}
