// Package proxysetheader implements the middleware proxySetHeader, which sets headers of requests to texts with
// variables of nginx.
package proxysetheader

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/headerlist"
	"github.com/sluiceproxy/sluice/middleware/source"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// ProxySetHeader is one configured proxySetHeader.
type ProxySetHeader struct {
	name    string
	headers []header
	// names are those of the headers, without Host.
	names []string
	// forwardedFor is set if one of them is X-Forwarded-For.
	forwardedFor bool
	client       source.Address
}

// header is a header and its value.
type header struct {
	name string
	text variable.Template
	// constant is the value of a text without variables; fixed is set for such a text.
	constant string
	fixed    bool
}

var errNoHost = errors.New("the value of Host is not a host")

// host is the name of the header that is no part of a request's map.
const host = "Host"

// New validates the definition: at least one header, names are tokens of which each occurs once, values are texts with
// known variables. Headers that frame the message or concern one connection can't be set, since the connections to
// services are those of the proxy.
func New(name string, config dynamic.ProxySetHeader) (*ProxySetHeader, error) {
	if len(config.Headers) == 0 {
		return nil, errors.New("proxySetHeader.headers is empty")
	}
	m := &ProxySetHeader{name: name}
	var err error
	if m.client, err = source.NewAddress("proxySetHeader.ipStrategy", config.IPStrategy); err != nil {
		return nil, err
	}
	for i, one := range config.Headers {
		if err := m.add(one); err != nil {
			return nil, fmt.Errorf("proxySetHeader.headers[%d]: %w", i, err)
		}
	}
	return m, nil
}

func (m *ProxySetHeader) add(one dynamic.HeaderValue) error {
	h := header{name: http.CanonicalHeaderKey(one.Name)}
	switch {
	case !headerlist.ValidName(one.Name):
		return fmt.Errorf("%q is not a header name", one.Name)
	case slices.ContainsFunc(m.headers, func(other header) bool { return other.name == h.name }):
		return fmt.Errorf("%s is listed twice", one.Name)
	case h.name != host && forwarded.FramesAs(h.name):
		return fmt.Errorf("%s concerns one connection and can't be set", one.Name)
	}
	var err error
	if h.text, err = variable.ParseLive(one.Value); err != nil {
		return fmt.Errorf("the value of %s: %w", one.Name, err)
	}
	h.constant, h.fixed = h.text.Constant()
	if h.name == host && h.fixed {
		if _, ok := canonical.Host(h.constant); !ok {
			return errNoHost
		}
	}
	m.headers = append(m.headers, h)
	if h.name != host {
		m.names = append(m.names, h.name)
	}
	m.forwardedFor = m.forwardedFor || h.name == forwarded.XForwardedFor
	return nil
}

// NoRetain implements httpio.NoRetainer.
func (*ProxySetHeader) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*ProxySetHeader) RewritesTarget() {}

// Wrap returns a handler that sets the request's headers and calls next. It answers 400 where Host comes out as what is
// no host.
func (m *ProxySetHeader) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := m.evaluate(r)
		forwarded.RemoveHeader(r.Header, m.names...)
		forwarded.RemoveTrailers(r, m.names...)
		for i := range m.headers {
			value := values[i : i+1 : i+1]
			switch name := m.headers[i].name; {
			case name == host:
				if _, ok := canonical.Host(value[0]); !ok {
					answer.BadRequest(w, r, m.name, errNoHost)
					return
				}
				r.Host = value[0]
			case value[0] != "":
				r.Header[name] = value
			case name == forwarded.XForwardedFor:
				r.Header[name] = nil // It keeps forwarding from adding the client.
			}
		}
		if m.forwardedFor {
			r = r.WithContext(forwarded.KeepForwardedFor(r.Context()))
		}
		next.ServeHTTP(w, r)
	})
}

// evaluate returns the values of the headers in their order.
func (m *ProxySetHeader) evaluate(r *http.Request) []string {
	live := variable.Live{Request: r, Client: m.client.Of(r)}
	values := make([]string, len(m.headers))
	var text []byte
	for i := range m.headers {
		if h := &m.headers[i]; h.fixed {
			values[i] = h.constant
		} else {
			text = h.text.Append(text[:0], &live)
			values[i] = string(text)
		}
	}
	return values
}
