package forward

import (
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/http1/wire"
)

// locate derives the endpoint's URL from the client's. It refuses what the endpoint would read differently than
// the rules: a query that splits the request line, and a path with dot segments, which would leave the server's
// own path.
func (a *attempt) locate() error {
	r, member := a.request, a.target.Member
	if _, err := (canonical.Policy{}).Query(r.URL.RawQuery); err != nil {
		return err
	}
	a.url = *r.URL
	a.url.User, a.url.Fragment, a.url.RawFragment = nil, "", ""
	a.url.Host = member.Address()
	if a.url.Scheme = member.Upstream().Scheme(); a.url.Scheme == "h2c" {
		a.url.Scheme = "http"
	}
	base := strings.TrimSuffix(member.Path(), "/")
	if base == "" {
		return nil
	}
	escaped, ok := canonical.EscapedPath(r)
	if !ok {
		return nil
	}
	return canonical.SetPath(&http.Request{URL: &a.url}, base+escaped)
}

// outgoing derives the request for the endpoint from the client's, which stays as it is. Its header is the client's
// where the HTTP/1.1 client adds and removes fields by itself. The body is nil when the client sends none.
func (a *attempt) outgoing() *http.Request {
	out := &a.out
	*out = *a.request
	out.URL, out.RequestURI = &a.url, ""
	if !a.target.PassHostHeader {
		out.Host = a.target.Member.Host()
	}
	out.Close = false
	if hasBody(a.request) {
		a.outgoingBody()
	} else {
		out.Body, out.Trailer, out.ContentLength, out.TransferEncoding = nil, nil, 0, nil
	}
	chain := a.forwardedFor()
	if len(out.Header["Connection"]) > 0 || len(out.Header["Upgrade"]) > 0 {
		out.Header = a.endToEndHeader(chain)
		return out
	}
	a.call.EndToEnd = true
	if chain != "" {
		a.call.Replace = wire.Field{Name: forwarded.XForwardedFor, Value: chain}
	}
	if a.record.TraceApart {
		a.call.Line = a.traceLine()
	}
	return out
}

func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

func (a *attempt) outgoingBody() {
	r, out := a.request, &a.out
	if a.replayBody == nil {
		limit := int64(0)
		if policy := a.state.policy; policy != nil && policy.Attempts > 0 {
			limit = policy.MaxBody
		}
		a.body, a.replayBody = newRequestBody(r, limit, a.memory())
	} else {
		a.body = new(requestBody)
		a.body.open(r, a.replayBody)
	}
	out.Body, out.Trailer = a.body.outgoing(a.replayBody), a.body.trailer
}

// endToEndHeader returns a new map of the fields for the endpoint, with X-Forwarded-For unless chain is empty. The
// values are shared with the client's header.
func (a *attempt) endToEndHeader(chain string) http.Header {
	r := a.request
	header := make(http.Header, len(r.Header)+2)
	for name, values := range r.Header {
		header[name] = values
	}
	if a.record.TraceApart {
		parent := a.record.Trace.Traceparent()
		header["Traceparent"] = []string{string(parent[:])}
	}
	forwarded.RemoveHopByHop(header, nil)
	a.upgrade = forwarded.UpgradeType(header)
	if a.upgrade != "" && (a.body != nil || !r.ProtoAtLeast(1, 1)) {
		// Unread bytes of the body would become part of the new protocol, so the request stays HTTP.
		a.upgrade = ""
		delete(header, "Connection")
		delete(header, "Upgrade")
	}
	if chain != "" {
		header[forwarded.XForwardedFor] = []string{chain}
	}
	return header
}

// traceName begins the Traceparent field line.
const traceName = "Traceparent: "

// traceLine returns the Traceparent field line, in the attempt's memory.
func (a *attempt) traceLine() []byte {
	parent := a.record.Trace.Traceparent()
	n := copy(a.line[:], traceName)
	n += copy(a.line[n:], parent[:])
	copy(a.line[n:], "\r\n")
	return a.line[:]
}

// forwardedFor returns X-Forwarded-For with the client appended, or "" if it stays unchanged: the entrypoint
// keeps the list as received, or a middleware removed it and left a nil value.
func (a *attempt) forwardedFor() string {
	r := a.request
	prior, present := r.Header[forwarded.XForwardedFor]
	if present && prior == nil || forwarded.KeepsForwardedFor(r.Context()) {
		return ""
	}
	client := a.record.Client
	if client == "" {
		address, ok := forwarded.ClientAddr(r.RemoteAddr)
		if !ok {
			return ""
		}
		client = address.String()
	}
	if len(prior) > 0 {
		return strings.Join(prior, ", ") + ", " + client
	}
	return client
}
