package forwardauth

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/authorize"
)

// made is how many headers an authentication request gets beside the client's, at most.
const made = 8

// authRequest returns the request to the authentication server about r, with body as its content. It has no context
// yet. It shares the values of headers with r, which must not change until the exchange has ended.
func (s *settings) authRequest(r *http.Request, body []byte) *http.Request {
	q := &http.Request{
		Method: http.MethodGet, URL: s.address.url, Host: s.address.url.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: s.headers(r),
	}
	if s.keepMethod && r.Method != http.MethodConnect {
		q.Method = r.Method
	}
	if len(body) > 0 {
		q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		q.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return q
}

// headers returns the headers of the authentication request.
func (s *settings) headers(r *http.Request) http.Header {
	h := s.received(r.Header)
	m := maker{header: h, values: make([]string, 0, made), keep: s.trust == believe}
	m.address(authorize.ClientAddress(r))
	m.set(forwarded.XForwardedMethod, r.Method)
	m.set(forwarded.XForwardedProto, proto(r))
	if s.trust != legacy {
		m.set(forwarded.XForwardedPort, port(r, h))
	}
	m.set(forwarded.XForwardedHost, r.Host)
	m.set(forwarded.XForwardedURI, r.URL.RequestURI())
	if s.address.authorization != nil && len(h["Authorization"]) == 0 {
		m.set("Authorization", *s.address.authorization)
	}
	return h
}

// received returns a copy of the client's headers that the server is shown.
func (s *settings) received(header http.Header) http.Header {
	h := make(http.Header, len(header)+made)
	for name, values := range header {
		if name == "Connection" || s.shows(name) {
			h[name] = values
		}
	}
	// Headers that Connection names are hop-by-hop.
	forwarded.RemoveHopByHop(h, nil)
	for _, name := range [...]string{"Connection", "Content-Length", "Expect", "Host", "Te", "Upgrade"} {
		delete(h, name)
	}
	return h
}

// shows reports whether the server is shown a header of the client's. Those that say where a request comes from are
// the entrypoint's by now, or those of a proxy that it trusts.
func (s *settings) shows(name string) bool {
	if forwarded.IsManaged(name) && !strings.EqualFold(name, forwarded.XReplacedPath) {
		switch {
		case strings.Contains(name, "_") || name != http.CanonicalHeaderKey(name) || s.trust == distrust:
			return false
		case s.trust == believe:
			return true
		}
	}
	return s.shown == nil || slices.Contains(s.shown, name)
}

// maker sets headers whose values lie side by side.
type maker struct {
	header http.Header
	values []string
	// keep says that a header which is there already stays.
	keep bool
}

func (m *maker) set(name, value string) {
	if m.keep && len(m.header[name]) > 0 {
		return
	}
	m.values = append(m.values, value)
	last := len(m.values)
	m.header[name] = m.values[last-1 : last : last]
}

// address sets X-Forwarded-For: the client, appended to the received addresses if the client is trusted.
func (m *maker) address(client string) {
	prior := m.header[forwarded.XForwardedFor]
	delete(m.header, forwarded.XForwardedFor)
	if m.keep && len(prior) > 0 {
		if client != "" {
			prior = append(slices.Clip(prior), client)
		}
		client = strings.Join(prior, ", ")
	}
	if client != "" {
		m.set(forwarded.XForwardedFor, client)
	}
}

func proto(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// port returns the port of the client's request, by the headers of the authentication request as far as they are
// made.
func port(r *http.Request, made http.Header) string {
	if port := canonical.Port(r.Host); port != "" {
		return port
	}
	if proto := made.Get(forwarded.XForwardedProto); proto == "https" || proto == "wss" || r.TLS != nil {
		return "443"
	}
	return "80"
}
