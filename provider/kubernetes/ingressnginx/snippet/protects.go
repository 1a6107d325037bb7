package snippet

import (
	"slices"
	"strconv"
	"strings"
)

// mostShown bounds what a reason shows of a directive, in bytes.
const mostShown = 64

// Protects says why a snippet of an annotation may restrict access, and whether it may. It does if it has
//
//   - a directive that restricts access, or return with an error,
//   - a directive that sets or removes a header of requests which an application may take as proof of who sends them:
//     any but those about the connection and the proxy,
//   - a directive about the address of the client,
//   - a directive that is not known to leave access as it is, such as include,
//   - a location, whose requests do not reach the application,
//   - a condition (if) that decides more than headers, logs and variables,
//   - what is no syntax of nginx, or a program of Lua.
func Protects(text string) (reason string, protects bool) { return judge(text, false) }

// GlobalProtects is as [Protects], for a snippet of the ConfigMap, in which directives about the address of the client
// concern what depends on that address alone, see [ClientAddress].
func GlobalProtects(text string) (reason string, protects bool) { return judge(text, true) }

// ClientAddress returns the first directive of a snippet that decides which address is the client's; empty for none.
func ClientAddress(text string) string {
	found, _ := parse(text)
	return aboutAddress(found)
}

func aboutAddress(found []*directive) string {
	for _, one := range found {
		if one.findsClient() {
			return one.words[0]
		}
		if name := aboutAddress(one.block); name != "" {
			return name
		}
	}
	return ""
}

// findsClient reports whether a directive decides which address is the client's.
func (d *directive) findsClient() bool { return begins(d.name(), "set_real_ip_from", "real_ip_") }

func judge(text string, global bool) (reason string, protects bool) {
	found, err := parse(text)
	if name, restricts := restricting(found, place{global: global}); restricts {
		return "the snippet has the directive " + shown(name), true
	}
	if err != nil {
		return "the snippet is not understood, " + err.Error(), true
	}
	return "", false
}

func shown(text string) string {
	if len(text) > mostShown {
		return strconv.Quote(text[:mostShown]) + "…"
	}
	return strconv.Quote(text)
}

// place is where directives are: in a condition or a location, in a server of their own, in the ConfigMap.
type place struct{ conditional, server, global bool }

// restricting returns the first directive that may restrict access. In a condition those may do that choose an answer.
func restricting(found []*directive, in place) (string, bool) {
	for _, one := range found {
		if one.restricts(in) {
			return one.words[0], true
		}
		within, name := in, one.name()
		switch name {
		case "types", "map", "geo", "split_clients", "upstream": // Their blocks are tables.
			continue
		case "if":
			within.conditional = true
		case "location":
			within.conditional = in.conditional || !in.server
		case "server":
			within.server = true
		}
		if name, restricts := restricting(one.block, within); restricts {
			return name, true
		}
		if name == "location" && !in.server { // Without a directive that answers, nginx looks for a file.
			return one.words[0], true
		}
	}
	return "", false
}

func (d *directive) restricts(in place) bool {
	name := d.name()
	switch {
	case name == "return":
		return in.conditional || len(d.words) < 2 || refusal(d.words[1])
	case name == "if" || name == "location" || name == "limit_req_zone" || name == "limit_conn_zone":
		return false // Zones alone limit nothing.
	case d.findsClient():
		return !in.global
	case d.forges():
		return true
	case in.conditional && !begins(name, "set", "add_", "more_", "expires", "access_log", "gzip", "brotli", "break") &&
		(!strings.HasPrefix(name, "proxy_") || name == "proxy_pass"):
		return true
	case strings.Contains(name, "_by_lua"):
		return true
	case begins(name, "ssl_verify_", "ssl_client_", "ssl_crl", "ssl_trusted_", "ssl_ocsp", "ssl_reject_",
		"proxy_ssl_verify"):
		return true
	}
	return !slices.Contains(harmless(), name) && !begins(name, harmlessFamilies()...)
}

// forges reports whether clients can send what the directive would keep from the application: a header of requests
// that it sets or removes.
func (d *directive) forges() bool {
	parameters := d.words[1:]
	switch d.name() {
	case "proxy_set_header", "grpc_set_header":
		return len(parameters) == 0 || !transportHeader(parameters[0])
	case "more_set_input_headers", "more_clear_input_headers":
		return len(parameters) == 0 || slices.ContainsFunc(parameters, func(parameter string) bool {
			name, _, _ := strings.Cut(parameter, ":")
			return !transportHeader(strings.TrimSpace(name))
		})
	case "proxy_pass_request_headers":
		return !slices.Equal(parameters, []string{"on"})
	}
	return false
}

// transportHeader reports whether a header of requests is about the connection or the proxy, not about who sends them.
func transportHeader(name string) bool {
	switch strings.ToLower(name) {
	case "host", "upgrade", "connection", "accept-encoding", "x-real-ip", "x-forwarded-for", "x-forwarded-host",
		"x-forwarded-port", "x-forwarded-prefix", "x-forwarded-proto", "x-forwarded-scheme", "x-forwarded-server":
		return true
	}
	return false
}

func begins(name string, starts ...string) bool {
	return slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(name, start) })
}

// harmless are the directives that restrict nothing, beside harmlessFamilies.
func harmless() []string {
	return []string{
		"absolute_redirect", "access_log", "alias", "break", "chunked_transfer_encoding", "connection_pool_size",
		"default_type", "early_hints", "etag", "geo", "if_modified_since", "ignore_invalid_headers", "index",
		"large_client_header_buffers", "listen", "map", "max_ranges", "merge_slashes", "override_charset",
		"port_in_redirect", "postpone_output", "read_ahead", "recursive_error_pages", "request_pool_size",
		"reset_timedout_connection", "resolver", "resolver_timeout", "rewrite", "rewrite_log", "root",
		"send_lowat", "send_timeout", "server", "server_name", "server_name_in_redirect", "server_tokens", "set",
		"slice", "source_charset", "split_clients", "stub_status", "subrequest_output_buffer_size",
		"tcp_nodelay", "tcp_nopush", "types", "underscores_in_headers", "uninitialized_variable_warn",
		"upstream",
	}
}

// harmlessFamilies are what the names of directives begin with that restrict nothing.
func harmlessFamilies() []string {
	return []string{
		"add_", "aio", "autoindex", "brotli", "charset", "client_", "directio", "error_", "expires", "fastcgi_", "geoip",
		"grpc_", "gzip", "http2", "http3", "keepalive_", "lingering_", "log_", "memcached_", "mirror", "more_", "msie_",
		"open_file_cache", "opentelemetry", "opentracing", "otel", "output_buffers", "proxy_", "quic", "scgi_", "sendfile",
		"set_", "ssi", "ssl_", "sub_filter", "subs_filter", "types_hash", "userid", "uwsgi_", "variables_hash", "xslt_",
		"zstd",
	}
}

// refusal reports whether the first parameter of return is neither a status of success or redirection, nor a URL.
func refusal(parameter string) bool {
	if begins(parameter, "http://", "https://", "$scheme") {
		return false
	}
	return len(parameter) != 3 || parameter[0] != '2' && parameter[0] != '3'
}
