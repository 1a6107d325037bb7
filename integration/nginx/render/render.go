package render

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
)

// Field names that the configuration adds to requests, for the servers of a test.
const (
	// FieldService is the Service of a location, as "NAMESPACE/NAME"; "/" is the controller's default backend, and "/-"
	// a Service without endpoints whose endpoints otherwise depend on what the server decides.
	FieldService = "X-Rendered-Service"
	// FieldOutside is the host of a server outside of the cluster.
	FieldOutside = "X-Rendered-Outside"
)

// Head is text of the http block that configurations share. It stands in front of them, once.
const Head = `map_hash_bucket_size 512;
map_hash_max_size 8192;
variables_hash_bucket_size 512;
variables_hash_max_size 8192;
proxy_headers_hash_max_size 2048;
proxy_headers_hash_bucket_size 256;
`

// attempts is how often a request can be sent to endpoints.
const attempts = 8

// Input is what a configuration is made of.
type Input struct {
	State *cases.State
	// Prefix makes names of the http block unique; letters and digits.
	Prefix string
	// HTTP, HTTPS and H2C are the addresses that are listened on, such as "unix:/run/http". Clients send a header of the
	// PROXY protocol. The controller's nginx takes HTTP/2 without TLS at the address of HTTP, which later versions can.
	HTTP, HTTPS, H2C string
	// Backend and BackendTLS are the addresses of a server that stands for all others.
	Backend, BackendTLS string
	// Folder is an existing folder for the files.
	Folder string
	// Targets are those of requests whose escaped form is needed.
	Targets []string
	// Certificates maps Secrets to the content of files.
	Certificates map[string]PEM
	// Default is the content of the default certificate.
	Default PEM
}

// PEM is a Secret with a certificate, as files have it.
type PEM struct {
	// Certificate has the key behind it. Authority is empty where the Secret has none.
	Certificate, Authority string
	// Hosts are the names in the certificate.
	Hosts []string
}

// Output is a configuration.
type Output struct {
	// HTTP is text of the http block.
	HTTP string
	// Files maps paths to contents, which must be written first.
	Files map[string]string
}

// Render writes the configuration.
func Render(in Input) Output {
	r := &renderer{Input: in, files: map[string]string{}, http: new(text)}
	r.settings = newSettings(in.State)
	servers := r.plan()
	r.maps(servers)
	for _, twin := range twins(servers) {
		r.twin(twin)
	}
	for _, s := range servers {
		r.server(s)
	}
	return Output{HTTP: r.http.String(), Files: r.files}
}

// renderer writes one configuration.
type renderer struct {
	Input
	settings settings
	files    map[string]string
	// http is the text of the http block.
	http *text
	// zones are the names of limits that are written already.
	zones []string
	// outside are the servers outside of the cluster that are written already.
	outside []string
}

// variable returns a name of a variable that is defined in the http block.
func (r *renderer) variable(name string) string { return "$" + name + "_" + r.Prefix }

// file remembers a file and returns its path.
func (r *renderer) file(name, content string) string {
	path := filepath.Join(r.Folder, r.Prefix+"-"+strings.ReplaceAll(name, "/", "-"))
	r.files[path] = content
	return path
}

// maps writes what several servers use.
func (r *renderer) maps(servers []*server) {
	t := r.http
	for name, address := range map[string]string{"backend_": r.Backend, "backend_tls_": r.BackendTLS} {
		// An endpoint may be tried again.
		t.line("upstream %s%s {\n%s}", name, r.Prefix, strings.Repeat("server "+address+" max_fails=0;\n", attempts))
	}
	t.line("map $http_upgrade %s {", r.variable("connection_upgrade"))
	t.line("default upgrade; '' ''; }")
	t.line("map $http_x_request_id %s {", r.variable("req_id"))
	t.line("default $http_x_request_id; '' $request_id; }")
	t.line("map $scheme %s {", r.variable("hsts"))
	t.line("https %s; default ''; }", quote(r.settings.hsts()))
	t.line("geo %s { default \"$\"; }", r.variable("literal_dollar"))
	t.line("map $request_uri %s {", r.variable("escaped_request_uri"))
	var seen []string
	for _, target := range r.Targets {
		if !slices.Contains(seen, target) && !strings.ContainsAny(target, "\"\\ ") {
			seen = append(seen, target)
			t.line(`"~^\Q%s\E$" "%s";`, target, escape(target)) // Other keys have no case.
		}
	}
	t.line("default $request_uri; }")
	if r.settings.flag("use-forwarded-headers") && r.settings.flag("compute-full-forwarded-for") {
		t.line("map $http_x_forwarded_for %s {", r.variable("full_x_forwarded_for"))
		t.line("default \"$http_x_forwarded_for, $realip_remote_addr\"; '' \"$realip_remote_addr\"; }")
	}
	r.blocks()
	for _, s := range servers {
		for _, l := range s.locations {
			r.limits(l)
		}
	}
	if r.authCache(servers) {
		t.line("proxy_cache_path %s keys_zone=%s:1m;", filepath.Join(r.Folder, r.Prefix+"-cache"), "auth_"+r.Prefix)
	}
}

// blocks writes the maps of blocked user agents and referers.
func (r *renderer) blocks() {
	for _, list := range []struct{ key, field, name string }{
		{"block-user-agents", "$http_user_agent", "block_ua"}, {"block-referers", "$http_referer", "block_ref"},
	} {
		if values := r.settings.list(list.key); len(values) > 0 {
			r.http.line("map %s %s {", list.field, r.variable(list.name))
			r.http.line("default 0;")
			for _, value := range values {
				r.http.line("%s 1;", value)
			}
			r.http.line("}")
		}
	}
}

// limits writes the zones of a location, one set for each Ingress.
func (r *renderer) limits(l *location) {
	limit := l.options.limit
	if limit.rps == 0 && limit.rpm == 0 && limit.connections == 0 {
		return
	}
	name := r.limitName(l)
	if slices.Contains(r.zones, name) {
		return
	}
	r.zones = append(r.zones, name)
	t := r.http
	t.line("geo $remote_addr $allowed_%s {", name)
	t.line("default 0;")
	for _, network := range limit.allowed {
		t.line("%s 1;", network)
	}
	t.line("}")
	t.line("map $allowed_%s $limit_%s { 0 $binary_remote_addr; 1 ''; }", name, name)
	if limit.connections > 0 {
		t.line("limit_conn_zone $limit_%s zone=%s_conn:1m;", name, name)
	}
	if limit.rpm > 0 {
		t.line("limit_req_zone $limit_%s zone=%s_rpm:1m rate=%dr/m;", name, name, limit.rpm)
	}
	if limit.rps > 0 {
		t.line("limit_req_zone $limit_%s zone=%s_rps:1m rate=%dr/s;", name, name, limit.rps)
	}
}

// limitName returns the name of the limits of a location's Ingress.
func (r *renderer) limitName(l *location) string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(r.Prefix + "_" + l.ingress.Namespace + "_" + l.ingress.Name)
}

func (r *renderer) authCache(servers []*server) bool {
	return slices.ContainsFunc(servers, func(s *server) bool {
		return slices.ContainsFunc(s.locations, func(l *location) bool { return r.auth(l).cacheKey != "" })
	})
}

// text is a part of a configuration.
type text struct{ strings.Builder }

func (t *text) line(format string, arguments ...any) {
	_, _ = fmt.Fprintf(t, format+"\n", arguments...) // It never fails.
}

// quote returns a word in quotation marks. Variables in it stay variables.
func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// escape returns a target as an argument of a query, with the characters that set_escape_uri escapes.
func escape(target string) string {
	var escaped strings.Builder
	for _, b := range []byte(target) {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', strings.IndexByte("-._~*!'()", b) >= 0:
			escaped.WriteByte(b)
		default:
			fmt.Fprintf(&escaped, "%%%02X", b)
		}
	}
	return escaped.String()
}
