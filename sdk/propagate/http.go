package propagate

import "net/http"

// Handler returns a handler that passes requests to the next one with their tag in the context. It is a middleware in
// the form that most routers of HTTP expect: the method value p.Handler.
func (p Propagator) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(p.Extract(r.Context(), r.Header)))
	})
}

// Transport returns a RoundTripper that sends requests through the base, with the tag of their context if their host is
// allowed and they have none; see Inject. A nil base is http.DefaultTransport, as in http.Client. Requests of the
// caller are not changed.
//
// The host is that of the URL, not of the field Host. It is looked at for each request of a redirect. When a redirect
// leads to a host that is not allowed, a header that the caller has set is removed, which http.Client has copied. Other
// fields, Baggage among them, stay as the caller has set them.
func (p Propagator) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport //nolint:forbidigo // What a client without a transport uses.
	}
	return &transport{propagator: p, base: base}
}

// transport adds tags to requests.
type transport struct {
	propagator Propagator
	base       http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL == nil { // The base reports it.
		return t.base.RoundTrip(r)
	}
	switch allowed := t.propagator.Allows(r.URL.Hostname()); {
	case allowed && t.propagator.outgoing(r.Context(), r.Header) != "":
		r = clone(r)
		t.propagator.Inject(r.Context(), r.Header)
	case !allowed && r.Response != nil && len(r.Header.Values(t.propagator.header())) > 0:
		r = clone(r)
		r.Header.Del(t.propagator.header())
	}
	return t.base.RoundTrip(r)
}

// idleCloser is a RoundTripper that can close the connections that are idle.
type idleCloser interface{ CloseIdleConnections() }

// CloseIdleConnections closes those of the base, for http.Client.CloseIdleConnections.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.base.(idleCloser); ok {
		closer.CloseIdleConnections()
	}
}

// clone copies a request with its headers. A RoundTripper must not change those of the caller.
func clone(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	if r.Header == nil {
		r.Header = http.Header{}
	}
	return r
}
