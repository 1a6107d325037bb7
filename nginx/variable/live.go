package variable

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/nginx/uri"
)

// Live has the values of variables for a request while it is handled. It is not safe for concurrent use.
type Live struct {
	// Request is the request as the handlers before have left it.
	Request *http.Request
	// Client is the address of the client without port; empty is that of Request.RemoteAddr.
	Client string
	// Captures are those of a pattern, that of the whole pattern first.
	Captures []string
	// Target is $request_uri where the request has been rewritten since; empty is that of Request as it is now.
	Target string
	// id is the request ID of a request that came without one.
	id string
}

// Snapshot returns values that stay as they are while handlers change the request in place.
func Snapshot(r *http.Request, client string) *Live {
	kept, location := *r, *r.URL
	kept.URL, kept.Header = &location, r.Header.Clone()
	return &Live{Request: &kept, Client: client}
}

// Value implements [Values].
func (l *Live) Value(of Variable) string {
	switch of.Kind {
	case Capture:
		if of.Number < len(l.Captures) {
			return l.Captures[of.Number]
		}
		return ""
	case RequestURI:
		if l.Target != "" {
			return l.Target
		}
		return ValueOf(l.Request, l.Client, of)
	case EscapedRequestURI:
		if l.Target != "" {
			return EscapeArgument(l.Target)
		}
		return ValueOf(l.Request, l.Client, of)
	case RequestID:
		if l.id == "" {
			l.id = ValueOf(l.Request, l.Client, of)
		}
		return l.id
	default:
		return ValueOf(l.Request, l.Client, of)
	}
}

// ParseLive reads a text with variables for which [Live] has values without a pattern.
func ParseLive(text string) (Template, error) {
	template, err := Parse(text)
	if err == nil {
		err = CheckLive(template, false)
	}
	return template, err
}

// CheckLive returns an error that names the first variable of a text for which [Live] has no value: fields of the
// client's certificate, names of objects and, unless captures is set, groups of a pattern.
func CheckLive(text Template, captures bool) error {
	for i := range text.parts {
		switch v := &text.parts[i].variable; {
		case v.Kind == Certificate:
			return fmt.Errorf("the variable $ssl_client_%s has no value here", v.Name)
		case v.Kind == Object:
			return fmt.Errorf("the variable $%s has no value here", v.Name)
		case v.Kind == Capture && !captures:
			return fmt.Errorf("there is no pattern that $%d could be a group of", v.Number)
		}
	}
	return nil
}

// ValueOf returns the value of a variable for a request; client is the address of its client without port, or empty
// for that of RemoteAddr. A request without X-Request-ID gets another ID with each call. Variables that [CheckLive]
// refuses have none. It allocates only for values that are no part of the request.
func ValueOf(r *http.Request, client string, of Variable) string {
	switch of.Kind {
	case Header:
		return (&Request{Header: r.Header, HTTPHost: r.Host}).header(of.Name)
	case Cookie:
		return CookieOf(r.Header["Cookie"], of.Name)
	case Arg:
		return argOf(r.URL.RawQuery, of.Name)
	case RequestID:
		return requestID(r)
	case RemoteAddr:
		return cutPort(r.RemoteAddr, client)
	case ServerPort:
		return serverPort(r)
	case URI:
		path, _ := uri.Normalize(r.URL.EscapedPath())
		return path
	case RemoteUser:
		return userOf(r.Header["Authorization"])
	case EscapedRequestURI:
		return EscapeArgument(targetOf(r))
	default:
		return lineOf(r, of.Kind)
	}
}

// lineOf returns the values that are in the request line, in Host or in the connection.
func lineOf(r *http.Request, kind Kind) string {
	switch kind {
	case Scheme:
		return schemeOf(r)
	case Host:
		return hostOf(r.Host)
	case HTTPHost:
		return r.Host
	case BestHTTPHost:
		return bestHost(r)
	case RequestURI:
		return targetOf(r)
	case Args:
		return r.URL.RawQuery
	case IsArgs:
		if r.URL.RawQuery != "" {
			return "?"
		}
		return ""
	case RequestMethod:
		return r.Method
	default:
		return ""
	}
}

// targetOf returns path and query as they are now. That is the target as received while handlers have not changed it.
func targetOf(r *http.Request) string {
	if rest, same := strings.CutPrefix(r.RequestURI, r.URL.EscapedPath()); same && rest != "" {
		if query, hasQuery := strings.CutPrefix(rest, "?"); hasQuery && query == r.URL.RawQuery {
			return r.RequestURI
		}
	}
	return r.URL.RequestURI()
}

// schemeOf returns the client's scheme: the first one of X-Forwarded-Proto, which the entrypoint sets or takes from
// trusted peers, or that of the connection.
func schemeOf(r *http.Request) string {
	if forwarded := r.Header["X-Forwarded-Proto"]; len(forwarded) > 0 {
		first, _, _ := strings.Cut(forwarded[0], ",")
		switch strings.ToLower(strings.TrimSpace(first)) {
		case "http", "ws":
			return "http"
		case "https", "wss":
			return "https"
		}
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// bestHost returns the first host of X-Forwarded-Host, which the entrypoint sets or takes from trusted peers, or else
// the Host header.
func bestHost(r *http.Request) string {
	if forwarded := r.Header["X-Forwarded-Host"]; len(forwarded) > 0 {
		first, _, _ := strings.Cut(forwarded[0], ",")
		if first = strings.TrimSpace(first); first != "" {
			return first
		}
	}
	return r.Host
}

// hostOf returns a host in lower case without port and final dot.
func hostOf(authority string) string {
	if colon := strings.LastIndexByte(authority, ':'); colon > strings.LastIndexByte(authority, ']') {
		authority = authority[:colon]
	}
	return strings.ToLower(strings.TrimSuffix(authority, "."))
}

// cutPort returns the client, or else the host of an address.
func cutPort(address, client string) string {
	if client != "" {
		return client
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// serverPort returns the port that has accepted the request; empty when it is not known.
func serverPort(r *http.Request) string {
	local, known := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !known {
		return ""
	}
	_, port, err := net.SplitHostPort(local.String())
	if err != nil {
		return ""
	}
	return port
}

// requestID returns the ID that came with a request, or a random one of 32 hexadecimal digits.
func requestID(r *http.Request) string {
	if ids := r.Header["X-Request-Id"]; len(ids) > 0 && ids[0] != "" {
		return ids[0]
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // It never fails.
	return hex.EncodeToString(id[:])
}
