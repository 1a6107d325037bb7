package snippet

import (
	"slices"
	"strconv"
	"strings"
)

// mostShown bounds what a reason shows of a directive, in bytes.
const mostShown = 64

// Protects says why a snippet may restrict access, and whether it may. It does if it has
//
//   - a directive that restricts access, or return with an error,
//   - a directive that is not known to leave access as it is, such as include,
//   - a condition (if) that decides more than headers, logs and variables,
//   - what is no syntax of nginx, or a program of Lua.
func Protects(text string) (reason string, protects bool) {
	found, err := parse(text)
	if name, restricts := restricting(found, false); restricts {
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

// restricting returns the first directive that may restrict access. In a condition those may do that choose an answer.
func restricting(found []*directive, conditional bool) (string, bool) {
	for _, one := range found {
		if one.restricts(conditional) {
			return one.words[0], true
		}
		switch one.name() {
		case "types", "map", "geo", "split_clients", "upstream": // Their blocks are tables.
		default:
			if name, restricts := restricting(one.block, conditional || one.name() == "if"); restricts {
				return name, true
			}
		}
	}
	return "", false
}

func (d *directive) restricts(conditional bool) bool {
	name := d.name()
	switch {
	case name == "return":
		return conditional || len(d.words) < 2 || refusal(d.words[1])
	case name == "if" || name == "limit_req_zone" || name == "limit_conn_zone": // Zones alone limit nothing.
		return false
	case conditional && !begins(name, "set", "add_", "more_", "expires", "access_log", "gzip", "brotli", "break") &&
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

func begins(name string, starts ...string) bool {
	return slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(name, start) })
}

// harmless are the directives that restrict nothing, beside harmlessFamilies.
func harmless() []string {
	return []string{
		"absolute_redirect", "access_log", "alias", "break", "chunked_transfer_encoding", "connection_pool_size",
		"default_type", "early_hints", "etag", "geo", "if_modified_since", "ignore_invalid_headers", "index",
		"large_client_header_buffers", "listen", "location", "map", "max_ranges", "merge_slashes", "override_charset",
		"port_in_redirect", "postpone_output", "read_ahead", "real_ip_header", "real_ip_recursive", "recursive_error_pages",
		"request_pool_size", "reset_timedout_connection", "resolver", "resolver_timeout", "rewrite", "rewrite_log", "root",
		"send_lowat", "send_timeout", "server", "server_name", "server_name_in_redirect", "server_tokens", "set", "slice",
		"source_charset", "split_clients", "stub_status", "subrequest_output_buffer_size", "tcp_nodelay", "tcp_nopush",
		"try_files", "types", "underscores_in_headers", "uninitialized_variable_warn", "upstream",
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
