package forwarded

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// Names of the headers that identify the client, in net/http's canonical spelling.
const (
	// Forwarded lists the proxies that a request came through (RFC 7239).
	Forwarded = "Forwarded"
	// XForwardedFor lists the addresses that a request came through, the client first.
	XForwardedFor = "X-Forwarded-For"
	// XForwardedHost is the client's Host.
	XForwardedHost = "X-Forwarded-Host"
	// XForwardedMethod is the method of the client's request.
	XForwardedMethod = "X-Forwarded-Method"
	// XForwardedPort is the destination port of the client's connection.
	XForwardedPort = "X-Forwarded-Port"
	// XForwardedPrefix is the path prefix that a proxy removed.
	XForwardedPrefix = "X-Forwarded-Prefix"
	// XForwardedProto is the client's scheme: http, https, ws or wss.
	XForwardedProto = "X-Forwarded-Proto"
	// XForwardedScheme is an alternative name of XForwardedProto.
	XForwardedScheme = "X-Forwarded-Scheme"
	// XForwardedServer is the host name of the proxy.
	XForwardedServer = "X-Forwarded-Server"
	// XForwardedTLSClientCert is the client's certificate.
	XForwardedTLSClientCert = "X-Forwarded-Tls-Client-Cert"
	// XForwardedTLSClientCertInfo is a summary of the client's certificate.
	XForwardedTLSClientCertInfo = "X-Forwarded-Tls-Client-Cert-Info"
	// XForwardedURI is the request target of the client's request.
	XForwardedURI = "X-Forwarded-Uri"
	// XRealIP is the address of the client.
	XRealIP = "X-Real-Ip"
	// XReplacedPath is the path before a middleware replaced it.
	XReplacedPath = "X-Replaced-Path"
	// XScheme is an alternative name of XForwardedProto.
	XScheme = "X-Scheme"
)

// Managed returns the names of the headers that identify the client or the proxies before this one. Untrusted peers
// cannot set them, except for Forwarded with [ModeKeep], and no Connection header removes them.
func Managed() []string {
	return []string{
		Forwarded, XForwardedFor, XForwardedHost, XForwardedMethod, XForwardedPort, XForwardedPrefix, XForwardedProto,
		XForwardedScheme, XForwardedServer, XForwardedTLSClientCert, XForwardedTLSClientCertInfo, XForwardedURI, XRealIP,
		XReplacedPath, XScheme,
	}
}

// IsManaged reports whether name is a managed header or an alias of one: in any case, with "_" for any "-". Servers
// behind a CGI-like interface cannot distinguish an alias from the header.
func IsManaged(name string) bool { return managed(name) != "" }

// managed returns the managed header of which name is a spelling, or "".
func managed(name string) string {
	if name == "" {
		return ""
	}
	switch name[0] | 0x20 {
	case 'f':
		return oneOf(name, Forwarded)
	case 'x':
	default:
		return ""
	}
	switch len(name) {
	case len(XScheme):
		return oneOf(name, XScheme)
	case len(XRealIP):
		return oneOf(name, XRealIP)
	case len(XForwardedFor):
		return oneOf(name, XForwardedFor, XForwardedURI, XReplacedPath)
	case len(XForwardedHost):
		return oneOf(name, XForwardedHost, XForwardedPort)
	case len(XForwardedProto):
		return oneOf(name, XForwardedProto)
	case len(XForwardedPrefix):
		return oneOf(name, XForwardedPrefix, XForwardedServer, XForwardedMethod, XForwardedScheme)
	case len(XForwardedTLSClientCert):
		return oneOf(name, XForwardedTLSClientCert)
	case len(XForwardedTLSClientCertInfo):
		return oneOf(name, XForwardedTLSClientCertInfo)
	}
	return ""
}

func oneOf(name string, headers ...string) string {
	for _, header := range headers {
		if name == header || SameHeader(name, header) {
			return header
		}
	}
	return ""
}

// StripUntrusted removes every managed header and its aliases. It applies to headers and trailers of untrusted peers.
func StripUntrusted(h http.Header) {
	for name := range h {
		if IsManaged(name) {
			delete(h, name)
		}
	}
}

// RemoveHeader removes headers and their aliases (any case, "_" for "-"), so that a value which is set next cannot be
// forged by another spelling. The names are also removed from Connection, so that the next hop does not remove that
// value (see forwardedHeaders.connection). The names are in net/http's canonical spelling.
func RemoveHeader(h http.Header, names ...string) {
	if connection := h["Connection"]; len(connection) > 0 {
		disconnect(h, connection, names)
	}
	for given := range h {
		for _, name := range names {
			if SameHeader(given, name) {
				delete(h, given)
				break
			}
		}
	}
}

// disconnect removes names from the lines of Connection.
func disconnect(h http.Header, connection, names []string) {
	kept, found := make([]string, 0, len(connection)), false
	for _, line := range connection {
		listed := strings.Split(line, ",")
		left := slices.DeleteFunc(slices.Clone(listed), func(token string) bool {
			return slices.ContainsFunc(names, func(name string) bool {
				return strings.EqualFold(textproto.TrimString(token), name)
			})
		})
		found = found || len(left) < len(listed)
		if len(left) > 0 {
			kept = append(kept, strings.Join(left, ","))
		}
	}
	switch {
	case !found:
	case len(kept) == 0:
		delete(h, "Connection")
	default:
		h["Connection"] = kept
	}
}

// RemoveAliases removes the aliases of a header, but not the header itself, which is named in net/http's canonical
// spelling.
func RemoveAliases(h http.Header, name string) {
	for given := range h {
		if given != name && SameHeader(given, name) {
			delete(h, given)
		}
	}
}

// AddHeader appends a value to a header and removes the aliases, so that another spelling cannot contradict it. The
// name is in net/http's canonical spelling.
func AddHeader(h http.Header, name, value string) {
	RemoveAliases(h, name)
	values := h[name]
	h[name] = append(values[:len(values):len(values)], value)
}

// SameHeader reports whether header names are the same, ignoring case and "_" or "-".
func SameHeader(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if foldHeader(a[i]) != foldHeader(b[i]) {
			return false
		}
	}
	return true
}

func foldHeader(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case c == '_':
		return '-'
	}
	return c
}
