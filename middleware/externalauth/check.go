package externalauth

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/telemetry"
)

// check returns the message about a request.
func (s *settings) check(r *http.Request, body []byte) *authv3.CheckRequest {
	about := &authv3.AttributeContext_HttpRequest{
		Id: text(r.Header.Get("X-Request-Id")), Method: r.Method, Path: text(r.URL.RequestURI()), Host: text(r.Host),
		Scheme: "http", Protocol: r.Proto, Size: r.ContentLength, Headers: s.shownHeaders(r),
	}
	if r.TLS != nil {
		about.Scheme = "https"
	}
	if r.ProtoMajor == 2 {
		about.Protocol = "HTTP/2"
	}
	if utf8.Valid(body) {
		about.Body = string(body)
	} else {
		about.RawBody = body
	}
	attributes := &authv3.AttributeContext{
		Request: &authv3.AttributeContext_Request{Http: about},
	}
	if start := telemetry.RecordFrom(r.Context()).Start; !start.IsZero() {
		attributes.Request.Time = timestamppb.New(start)
	}
	_, port, _ := net.SplitHostPort(r.RemoteAddr)
	attributes.Source = peer(authorize.ClientAddress(r), port)
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if host, port, err := net.SplitHostPort(local.String()); err == nil {
			attributes.Destination = peer(host, port)
		}
	}
	if r.TLS != nil && r.TLS.ServerName != "" {
		attributes.TlsSession = &authv3.AttributeContext_TLSSession{Sni: text(r.TLS.ServerName)}
	}
	return &authv3.CheckRequest{Attributes: attributes}
}

// shownHeaders returns the headers that the service is shown, in lower case, with one value for each. Without a
// selection there are the pseudo-headers of HTTP/2 too, as Envoy sends them.
func (s *settings) shownHeaders(r *http.Request) map[string]string {
	shown := make(map[string]string, len(r.Header)+4)
	for name, values := range r.Header {
		if len(values) == 0 || len(s.shown) > 0 && !slices.Contains(s.shown, name) {
			continue
		}
		separator := ", "
		if name == "Cookie" { // RFC 9113 section 8.2.3.
			separator = "; "
		}
		shown[strings.ToLower(text(name))] = text(strings.Join(values, separator))
	}
	if len(s.shown) == 0 {
		shown[":method"], shown[":path"], shown[":authority"] = r.Method, text(r.URL.RequestURI()), text(r.Host)
		shown[":scheme"] = "http"
		if r.TLS != nil {
			shown[":scheme"] = "https"
		}
	}
	return shown
}

// text returns a value as a string of protobuf may be: bytes that are no UTF-8 are replaced by an exclamation mark.
func text(value string) string { return strings.ToValidUTF8(value, "!") }

// peer returns an end of a connection.
func peer(host, port string) *authv3.AttributeContext_Peer {
	number, _ := strconv.ParseUint(port, 10, 16)
	return &authv3.AttributeContext_Peer{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
		SocketAddress: &corev3.SocketAddress{
			Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(number)},
		},
	}}}
}
