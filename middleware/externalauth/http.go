package externalauth

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/forwarded"
)

// errSwitched says that the answer switches to another protocol, which was not asked for.
var errSwitched = errors.New("it has switched protocols")

// httpAsker asks with the method, the host and the path of a request.
type httpAsker struct {
	settings *settings
	service  http.Handler
}

func (a *httpAsker) ask(ctx context.Context, r *http.Request, body []byte) (*verdict, error) {
	q, err := a.request(ctx, r, body)
	if err != nil {
		return nil, err
	}
	answered, err := call(a.service, q)
	switch {
	case err != nil:
		return nil, err
	case answered.status == http.StatusOK:
		return &verdict{grant: a.settings.granted(answered.header)}, nil
	case answered.status < http.StatusOK:
		return nil, errSwitched
	}
	return &verdict{denial: &denial{
		status: answered.status, header: refusalHeader(answered.header),
		body: answered.body,
	}}, nil
}

// request returns the request that asks.
func (a *httpAsker) request(ctx context.Context, r *http.Request, body []byte) (*http.Request, error) {
	method := r.Method
	if method == http.MethodConnect { // The service is not asked for a tunnel.
		method = http.MethodGet
	}
	q := newRequest(ctx, r, method, body)
	q.URL.RawQuery = r.URL.RawQuery
	if _, whole := canonical.EscapedPath(r); whole { // "OPTIONS *" has none.
		q.URL.Path, q.URL.RawPath = r.URL.Path, r.URL.RawPath
	}
	if q.URL.Path == "" { // CONNECT (RFC 9110 section 9.3.6).
		q.URL.Path = "/"
	}
	if a.settings.path != "" {
		// The prefix is canonical, and the path has passed the entrypoint: what it may hold is decided there.
		if err := canonical.PrependPath(q, a.settings.path); err != nil {
			return nil, err
		}
	}
	q.RequestURI = q.URL.RequestURI()
	q.Header = make(http.Header, len(a.settings.shown)+2)
	for _, name := range append([]string{"Authorization"}, a.settings.shown...) {
		if values := r.Header[name]; len(values) > 0 && !forwarded.FramesAs(name) {
			q.Header[name] = values
		}
	}
	if !slices.Contains(a.settings.shown, forwarded.XForwardedFor) {
		q.Header[forwarded.XForwardedFor] = nil // Stops the service from adding the client's address.
	}
	return q, nil
}

// refusalHeader returns the headers of an answer that the client gets.
func refusalHeader(header http.Header) http.Header {
	for _, name := range [...]string{"Connection", "Upgrade", "Content-Length", "Trailer"} {
		delete(header, name)
	}
	return header
}

// granted returns what a request goes on with after an answer that grants it.
func (s *settings) granted(header http.Header) *grant {
	g := &grant{strip: s.copied}
	for name, values := range header {
		if len(s.copied) > 0 {
			if !slices.Contains(s.copied, name) {
				continue
			}
		} else if forwarded.FramesAs(name) || strings.HasPrefix(name, "Content-") {
			continue // It is about the answer itself.
		}
		g.edits = append(g.edits, edit{name: name, values: slices.Clone(values), action: overwrite})
	}
	return g
}
