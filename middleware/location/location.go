// Package location has what redirects need to know of a client's URL, and writes the one that they send.
package location

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/forwarded"
)

// Scheme returns the client's scheme, http or https: X-Forwarded-Proto (the first of several; ws counts as http, wss as
// https), or that of the connection.
func Scheme(r *http.Request) string {
	proto := First(r, forwarded.XForwardedProto)
	if proto == "https" || proto == "http" {
		return proto // the usual case
	}
	switch strings.ToLower(proto) {
	case "http", "ws":
		return "http"
	case "https", "wss":
		return "https"
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// First returns the first value of a header to which every proxy may have added one.
func First(r *http.Request, name string) string {
	values := r.Header[name]
	if len(values) == 0 {
		return ""
	}
	value := values[0]
	if strings.Contains(value, ",") {
		value, _, _ = strings.Cut(value, ",")
		value = strings.TrimSpace(value)
	}
	return value
}

// Explicit returns a port, or nothing for the default one of a scheme.
func Explicit(scheme, port string) string {
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return ""
	}
	return port
}

// URL returns a URL with the query of a request. The host is canonical, the port empty for none, and the path escaped.
func URL(scheme, host, port, path string, r *http.Request) string {
	var location strings.Builder
	location.WriteString(scheme)
	location.WriteString("://")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	location.WriteString(host)
	if port != "" {
		location.WriteByte(':')
		location.WriteString(port)
	}
	location.WriteString(path)
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		location.WriteByte('?')
		writeASCII(&location, r.URL.RawQuery)
	}
	return location.String()
}

// writeASCII encodes bytes that are unsafe in a header value: a query is forwarded as received, possibly with raw bytes
// beyond ASCII.
func writeASCII(location *strings.Builder, query string) {
	for i := range len(query) {
		if c := query[i]; c > ' ' && c < 0x7f && strings.IndexByte(`"<>\`, c) < 0 {
			location.WriteByte(c)
		} else {
			fmt.Fprintf(location, "%%%02X", c)
		}
	}
}
