package authrequest

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

var errTarget = errors.New("the variables of authRequest.url have no valid URL for this request")

// valuesOf returns the values of variables for a request.
func (s *settings) valuesOf(r *http.Request) *variable.Live {
	return &variable.Live{Request: r, Client: s.client.Of(r)}
}

// request returns the request to the server about r. It has no context yet. It shares the values of headers with r,
// which must not change until the exchange has ended.
func (s *settings) request(r *http.Request) (*http.Request, error) {
	values := s.valuesOf(r)
	address := s.fixed
	if address == nil {
		target := s.target.Append(nil, values)
		var err error
		if address, err = url.Parse(s.server.String() + string(escapeTarget(target))); err != nil {
			return nil, errTarget
		}
	}
	q := &http.Request{
		Method: s.method, URL: address, Host: address.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: s.sent(r, values),
	}
	if host := string(s.host.Append(nil, values)); host != "" {
		q.Host = host
	}
	return q, nil
}

// escapeTarget percent-encodes the bytes that a target cannot have, in place of those of a target without any.
func escapeTarget(target []byte) []byte {
	const hex = "0123456789ABCDEF"
	clean := true
	for _, c := range target {
		clean = clean && c > ' ' && c < 0x7f && c != '#'
	}
	if clean {
		return target
	}
	escaped := make([]byte, 0, len(target)+16)
	for _, c := range target {
		if c > ' ' && c < 0x7f && c != '#' {
			escaped = append(escaped, c)
		} else {
			escaped = append(escaped, '%', hex[c>>4], hex[c&15])
		}
	}
	return escaped
}

// sent returns the headers of the request to the server: the client's but those of one connection and of the body, with
// the configured ones in place of those with their names.
func (s *settings) sent(r *http.Request, values variable.Values) http.Header {
	h := make(http.Header, len(r.Header)+len(s.headers))
	for name, lines := range r.Header {
		h[name] = lines
	}
	// Headers that Connection names are hop-by-hop.
	forwarded.RemoveHopByHop(h, nil)
	for _, name := range [...]string{"Connection", "Content-Length", "Expect", "Host", "Te", "Trailer", "Upgrade"} {
		delete(h, name)
	}
	if s.keeps { // An answer must not depend on these, as with proxy_cache.
		for _, name := range [...]string{
			"If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Range",
		} {
			delete(h, name)
		}
	}
	forwarded.RemoveHeader(h, s.names...)
	made := make([]string, len(s.headers))
	for i := range s.headers {
		made[i] = string(s.headers[i].value.Append(nil, values))
		if made[i] != "" {
			h[s.headers[i].name] = made[i : i+1 : i+1]
		}
	}
	return h
}
