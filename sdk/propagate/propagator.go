package propagate

import (
	"context"
	"strings"
)

// DefaultHeader is the header of a Propagator that names none.
const DefaultHeader = "X-Virtual-Env"

// MaxHeaderLength is the number of bytes beyond which the value of a header is not a tag.
const MaxHeaderLength = 253

// Getter reads the fields of a request that arrived. http.Header is one.
type Getter interface {
	// Values returns the values of a field in their order. The name is not case-sensitive.
	Values(name string) []string
}

// Carrier reads and writes the fields of a request before it is sent. http.Header is one.
type Carrier interface {
	Getter
	// Set replaces the values of a field.
	Set(name, value string)
}

// Propagator reads tags from incoming requests and writes them into outgoing ones. The zero value is ready for use.
// A Propagator may be used by several goroutines at once, and must not be changed meanwhile.
//
// The value of the header is opaque: it is handed on as it is, also where it is no label value of Kubernetes. A header
// that is empty, longer than MaxHeaderLength or not a field value (RFC 9110, section 5.5) is as if it were absent. If
// the header is given several times, the first one counts.
//
// The member of W3C Baggage may belong to others, so that its value, after percent-decoding, is ignored unless it is a
// label value of Kubernetes: at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends. If the
// member is given several times, the last valid one counts, as in OpenTelemetry.
type Propagator struct {
	// Header is the name of the header and, in lower case, of the key in gRPC metadata. The default is DefaultHeader.
	Header string
	// BaggageKey is the key of the member of W3C Baggage, a token (RFC 9110, section 5.6.2). The default is
	// DefaultBaggageKey.
	BaggageKey string
	// SetBaggage also adds the member to outgoing requests. By default it is only read.
	SetBaggage bool
	// DefaultTag is sent when neither the context nor the outgoing request has a tag. See TagFromEnvironment.
	DefaultTag string
	// AllowHost reports whether requests to a host get the tag. The host is a name or an IP address, without port and
	// brackets. The default is InternalHosts(DefaultClusterDomain).
	AllowHost func(host string) bool
}

// Extract returns a context with the tag of an incoming request: the value of the header, or else of the member of W3C
// Baggage. Without any, it returns the context as it is.
func (p Propagator) Extract(ctx context.Context, getter Getter) context.Context {
	tag := p.fromHeader(getter)
	if tag == "" {
		tag = p.fromBaggage(getter)
	}
	if tag == "" {
		return ctx
	}
	return WithTag(ctx, tag)
}

// Inject writes the tag of the context into an outgoing request whose header has none, and with SetBaggage adds the
// member of W3C Baggage where there is none. A request without a header gets, in this order, the tag of the context,
// that of its own baggage, or the default. Which host the request is sent to is not considered; see Allows.
func (p Propagator) Inject(ctx context.Context, carrier Carrier) {
	tag := p.outgoing(ctx, carrier)
	if tag == "" {
		return
	}
	if len(carrier.Values(p.header())) == 0 {
		carrier.Set(p.header(), tag)
	}
	if p.SetBaggage {
		p.addToBaggage(carrier, tag)
	}
}

// Allows reports whether requests to the host, without port and brackets, get the tag.
func (p Propagator) Allows(host string) bool {
	if p.AllowHost != nil {
		return p.AllowHost(host)
	}
	return InternalHosts(DefaultClusterDomain)(host)
}

// outgoing returns the tag of an outgoing request, empty if there is none.
func (p Propagator) outgoing(ctx context.Context, getter Getter) string {
	if len(getter.Values(p.header())) > 0 {
		return p.fromHeader(getter)
	}
	for _, tag := range []string{Tag(ctx), p.fromBaggage(getter), p.DefaultTag} {
		if opaque(tag) {
			return tag
		}
	}
	return ""
}

// fromHeader returns the tag in the header, empty if there is none.
func (p Propagator) fromHeader(getter Getter) string {
	if values := getter.Values(p.header()); len(values) > 0 && opaque(values[0]) {
		return values[0]
	}
	return ""
}

// header returns the name of the header.
func (p Propagator) header() string {
	if p.Header == "" {
		return DefaultHeader
	}
	return p.Header
}

// opaque reports whether a text can be a tag in a header: a field value (RFC 9110, section 5.5) of limited length.
func opaque(value string) bool {
	return value != "" && len(value) <= MaxHeaderLength &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
