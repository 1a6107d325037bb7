package variable

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// Request has the values for a request. Fields that no text uses need not be set.
type Request struct {
	// Scheme, Host, HTTPHost, Target (path and query as sent), URI, Query (without question mark), Method, RemoteAddr,
	// ServerPort and ID are the values of the variables of these kinds.
	Scheme, Host, HTTPHost, Target, URI, Query, Method, RemoteAddr, ServerPort, ID string
	// Header has the headers under their canonical names.
	Header http.Header
	// Captures are those of a pattern, that of the whole pattern first.
	Captures []string
	// Objects has the names of the Ingress and its backend.
	Objects map[string]string
	// Certificate returns a field of the client's certificate; nil when there is none.
	Certificate func(field string) string
}

// Value implements [Values].
func (r *Request) Value(of Variable) string {
	switch of.Kind {
	case Header:
		return r.header(of.Name)
	case Cookie:
		return CookieOf(r.Header["Cookie"], of.Name)
	case Arg:
		return argOf(r.Query, of.Name)
	case Object:
		return r.Objects[of.Name]
	case Capture:
		if of.Number < len(r.Captures) {
			return r.Captures[of.Number]
		}
		return ""
	case Certificate:
		if r.Certificate != nil {
			return r.Certificate(of.Name)
		}
		return ""
	default:
		return r.plain(of.Kind)
	}
}

func (r *Request) plain(kind Kind) string {
	switch kind {
	case Scheme:
		return r.Scheme
	case Host:
		return r.Host
	case HTTPHost, BestHTTPHost:
		return r.HTTPHost
	case RequestURI:
		return r.Target
	case URI:
		return r.URI
	case Args:
		return r.Query
	case IsArgs:
		if r.Query != "" {
			return "?"
		}
		return ""
	case RemoteAddr:
		return r.RemoteAddr
	case RequestMethod:
		return r.Method
	case ServerPort:
		return r.ServerPort
	case RequestID:
		return r.ID
	case RemoteUser:
		return userOf(r.Header["Authorization"])
	case EscapedRequestURI:
		return EscapeArgument(r.Target)
	default:
		return ""
	}
}

// header joins the values of a header as nginx does since 1.23.
func (r *Request) header(name string) string {
	switch name {
	case "Host":
		return r.HTTPHost
	case "Cookie":
		return strings.Join(r.Header[name], "; ")
	default:
		return strings.Join(r.Header[name], ", ")
	}
}

// userOf returns the user of basic authentication (RFC 7617) in the first Authorization header; empty without one.
func userOf(authorization []string) string {
	if len(authorization) == 0 {
		return ""
	}
	scheme, encoded, found := strings.Cut(authorization[0], " ")
	if !found || !equalFold(scheme, "basic") {
		return ""
	}
	credentials, err := base64.StdEncoding.DecodeString(strings.TrimLeft(encoded, " "))
	if err != nil {
		return ""
	}
	user, _, found := strings.Cut(string(credentials), ":")
	if !found {
		return ""
	}
	return user
}

// Escape percent-encodes all bytes of a text but letters and digits of ASCII and "-._~".
func Escape(text string) string { return escape(text, "-.~") }

// EscapeArgument is Escape that leaves "!'()*" too, as ngx.escape_uri does.
func EscapeArgument(text string) string { return escape(text, "-.~!'()*") }

// escape percent-encodes all bytes but letters, digits, "_" and others that are left.
func escape(text, left string) string {
	const hex = "0123456789ABCDEF"
	var escaped strings.Builder
	for i := range len(text) {
		c := text[i]
		if isWord(rune(c)) || strings.IndexByte(left, c) >= 0 {
			_ = escaped.WriteByte(c)
			continue
		}
		_, _ = escaped.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return escaped.String()
}

// argOf returns the first value of a parameter of a query, as it is; the case of the name does not matter.
func argOf(query, name string) string {
	for pair := range strings.SplitSeq(query, "&") {
		if key, value, found := strings.Cut(pair, "="); found && equalFold(key, name) {
			return value
		}
	}
	return ""
}

// CookieOf returns the first value of a cookie in the Cookie headers, as it is; the case of the name does not matter.
func CookieOf(headers []string, name string) string {
	for _, header := range headers {
		for pair := range strings.SplitSeq(header, ";") {
			key, value, found := strings.Cut(strings.TrimLeft(pair, " "), "=")
			if found && equalFold(strings.TrimRight(key, " "), name) {
				return strings.TrimLeft(value, " ")
			}
		}
	}
	return ""
}

// equalFold reports whether two texts are equal but for the case of ASCII letters.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}
