package errors

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/forwarded"
)

// received is the method and the URL of a request as the middleware received it. Later handlers may change the path.
type received struct{ method, host, path, rawPath, query string }

// escaped returns the URL of the request, escaped for use in a query.
func (u *received) escaped(r *http.Request) string {
	whole := url.URL{Scheme: scheme(r), Host: u.host, Path: u.path, RawPath: u.rawPath, RawQuery: u.query}
	return url.QueryEscape(whole.String())
}

// scheme returns http or https as the client sent the request: the entrypoint accepts X-Forwarded-Proto of
// trusted peers alone.
func scheme(r *http.Request) string {
	switch r.Header.Get(forwarded.XForwardedProto) {
	case "https", "wss":
		return "https"
	case "http", "ws":
		return "http"
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// request returns the request for a page, from the same client and under its context: a GET without a body, or with the
// option originalRequest the original one with another path.
func (e *ErrorPages) request(
	r *http.Request, from *received, body *keptBody, original, status int,
) (*http.Request, error) {
	at := e.target.fill(status, original, from.escaped(r))
	path, err := canonical.Literal(at.path)
	if err != nil {
		return nil, fmt.Errorf("the path of its request: %w", err)
	}
	request := r.WithContext(r.Context())
	request.Method, request.Host = http.MethodGet, from.host
	request.URL = &url.URL{Path: "/", RawQuery: at.query}
	request.Body, request.GetBody, request.ContentLength = http.NoBody, nil, 0
	request.TransferEncoding, request.Trailer = nil, nil
	request.Form, request.PostForm, request.MultipartForm, request.Pattern = nil, nil, nil, ""
	sent := body.send(request)
	request.Header = e.headers.of(r.Header, e.original, sent)
	if e.original {
		request.Method = from.method
		if at.query == "" {
			request.URL.RawQuery = from.query
		}
	}
	addHeaders(request, r, e.added, status, original)
	if err := canonical.SetPath(request, path); err != nil {
		return nil, fmt.Errorf("the path of its request: %w", err)
	}
	return request, nil
}

// selection selects the request headers that the error page service gets.
type selection struct {
	// listed selects only the names, in net/http's canonical spelling. Otherwise all headers are selected.
	listed bool
	names  []string
}

// parseSelection reads the option errorRequestHeaders. Labels spell the empty list as one empty name.
func parseSelection(names []string) (selection, error) {
	s := selection{listed: names != nil}
	if len(names) == 1 && names[0] == "" {
		return s, nil
	}
	for _, name := range names {
		if !httpguts.ValidHeaderFieldName(name) {
			return selection{}, fmt.Errorf("errors.errorRequestHeaders: %q is no name of a header", name)
		}
		s.names = append(s.names, http.CanonicalHeaderKey(name))
	}
	return s, nil
}

// of returns the headers for the error page service: without those about the original connection, and without those
// about the conditions and the body of the original request unless the service gets that.
func (s *selection) of(header http.Header, original, body bool) http.Header {
	chosen := make(http.Header, len(header))
	for name, values := range header {
		if !s.listed || slices.Contains(s.names, name) {
			chosen[name] = values
		}
	}
	forwarded.RemoveHopByHop(chosen, nil)
	for name := range chosen {
		if former(name, original, body) {
			delete(chosen, name)
		}
	}
	if s.listed && !slices.Contains(s.names, forwarded.XForwardedFor) {
		// A nil value stops the service from adding the client's address.
		chosen[forwarded.XForwardedFor] = nil
	}
	return chosen
}

// former reports whether a header is about the original request alone: its expectations (RFC 9110, section 10.1.1), or
// an upgrade; unless the original request is sent, its conditions and ranges (sections 13 and 14); and unless its body
// is sent, that (section 8).
func former(name string, original, body bool) bool {
	switch {
	case name == "Expect" || name == "Connection" || name == "Upgrade" || name == "Te" || name == "Content-Length" ||
		strings.HasPrefix(name, "Sec-Websocket-"):
		return true
	case name == "Range" || strings.HasPrefix(name, "If-"):
		return !original
	case name == "Trailer" || name == "Digest" || strings.HasPrefix(name, "Content-"):
		return !body
	}
	return false
}

// parseKept reads the option errorResponseHeaders.
func parseKept(names []string) ([]string, error) {
	var kept []string
	for _, name := range names {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("errors.errorResponseHeaders: %q is no name of a header", name)
		case forwarded.FramesAs(canonical) || strings.HasPrefix(canonical, "Content-"):
			return nil, fmt.Errorf("errors.errorResponseHeaders: %s is about the body of the answer that is replaced", name)
		}
		kept = append(kept, canonical)
	}
	return kept, nil
}
