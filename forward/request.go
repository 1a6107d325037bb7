package forward

import (
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/http1"
)

// locate derives the endpoint's URL from the client's. It refuses what would be something else to the endpoint than to the rules: a
// query that splits the request line, and a path with dot segments, which would lead out of the server's own path.
func (x *exchange) locate() error {
	r, member := x.request, x.target.Member
	if _, err := (canonical.Policy{}).Query(r.URL.RawQuery); err != nil {
		return err
	}
	x.url = *r.URL
	x.url.User, x.url.Fragment, x.url.RawFragment = nil, "", ""
	x.url.Host = member.Address()
	if x.url.Scheme = member.Upstream().Scheme(); x.url.Scheme == "h2c" {
		x.url.Scheme = "http"
	}
	base := strings.TrimSuffix(member.Path(), "/")
	if base == "" {
		return nil
	}
	escaped, ok := canonical.EscapedPath(r)
	if !ok {
		return nil
	}
	return canonical.SetPath(&http.Request{URL: &x.url}, base+escaped)
}

// outgoing derives the request for the endpoint from the client's, which stays as it is. The header map is new, its
// values are shared. The body is nil when the client sends none.
func (x *exchange) outgoing() *http.Request {
	out := &x.out
	*out = *x.request
	out.URL, out.RequestURI = &x.url, ""
	if !x.target.PassHostHeader {
		out.Host = x.target.Member.Host()
	}
	out.Close = false
	x.outgoingBody()
	out.Header = x.outgoingHeader()
	return out
}

func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

func (x *exchange) outgoingBody() {
	r, out := x.request, &x.out
	out.Body, out.Trailer = nil, nil
	if !hasBody(r) {
		out.ContentLength, out.TransferEncoding = 0, nil
		return
	}
	if x.source == nil {
		x.body = newRequestBody(r)
		x.source = x.body.source
		if policy := x.trial.policy; policy != nil && policy.Attempts > 0 {
			x.source.keep(policy.MaxBody, x.buffers())
		}
	} else {
		x.body = x.source.again()
	}
	out.Body, out.Trailer = x.body.outgoing(), x.body.trailer
	if r.ContentLength < 0 && len(r.TransferEncoding) == 0 {
		// Otherwise the transport waits for the first byte of a GET's body before it sends the head.
		out.TransferEncoding = []string{"chunked"}
	}
}

// outgoingHeader returns the fields for the endpoint. Where the wire leaves out and adds what is due, they are the client's.
func (x *exchange) outgoingHeader() http.Header {
	r := x.request
	chain := x.forwardedFor()
	if x.direct() && len(r.Header["Connection"]) == 0 && len(r.Header["Upgrade"]) == 0 {
		x.call.EndToEnd = true
		if chain != "" {
			x.call.Replace = http1.Field{Name: canonical.XForwardedFor, Value: chain}
		}
		if x.record.TraceApart {
			x.call.Line = x.traceLine()
		}
		return r.Header
	}
	header := make(http.Header, len(r.Header)+2)
	for name, values := range r.Header {
		header[name] = values
	}
	if x.record.TraceApart {
		parent := x.record.Trace.Traceparent()
		header["Traceparent"] = []string{string(parent[:])}
	}
	canonical.RemoveHopByHop(header, nil)
	x.upgrade = canonical.UpgradeType(header)
	if x.upgrade != "" && (x.body != nil || !r.ProtoAtLeast(1, 1) || r.ProtoMajor > 1) {
		// Bytes of the body that are not read yet would become the new protocol's, so the request stays HTTP.
		x.upgrade = ""
		delete(header, "Connection")
		delete(header, "Upgrade")
	}
	if chain != "" {
		header[canonical.XForwardedFor] = []string{chain}
	}
	if _, sent := header["User-Agent"]; !sent {
		// HTTP/2's transport would send its own.
		header["User-Agent"] = nil
	}
	return header
}

// traceName is what stands before the value of a line with the trace.
const traceName = "Traceparent: "

// traceLine returns the field that tells the endpoint of the trace, in memory of the exchange.
func (x *exchange) traceLine() []byte {
	parent := x.record.Trace.Traceparent()
	n := copy(x.line[:], traceName)
	n += copy(x.line[n:], parent[:])
	copy(x.line[n:], "\r\n")
	return x.line[:]
}

// direct reports whether the request goes to the endpoint over HTTP/1.1, whatever else happens.
func (x *exchange) direct() bool {
	trips, own := x.target.Member.Upstream().RoundTripper().(*connections)
	return own && trips.multiplexed == nil
}

// forwardedFor returns X-Forwarded-For with the client at its end, or "" where it stays as it is: the entrypoint keeps the list as it
// was received, or a middleware removed it and left a nil value in its place.
func (x *exchange) forwardedFor() string {
	r := x.request
	prior, present := r.Header[canonical.XForwardedFor]
	if present && prior == nil || canonical.KeepsForwardedFor(r.Context()) {
		return ""
	}
	client := x.record.Client
	if client == "" {
		address, ok := canonical.ClientAddr(r.RemoteAddr)
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
