package rule

import (
	"iter"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// Request is the canonical view of a request that rules decide. Its fields must be normalised; rules only compare.
// One Request belongs to one goroutine at a time, because it caches what is derived from it.
type Request struct {
	// Host is the requested host in lower case: no port, no trailing dot, no brackets around an IPv6 address.
	Host string
	// Authority is the Host header or :authority as sent, with its port; TLS says whether the connection is secure. Both
	// are for Port alone.
	Authority string
	TLS       bool
	// Path is the routing path: decoded except for reserved characters, which stay percent-encoded.
	Path string
	// Escaped is the same path with all its percent-encodings, which the matchers of normalised paths read.
	Escaped string
	// Method is the method as sent; methods are case-sensitive (RFC 9110, section 9.1).
	Method string
	// Header holds the request's headers under their canonical names. The Host header is not among them.
	Header http.Header
	// RawQuery is the query string without the question mark.
	RawQuery string
	// Client is the address of the peer that rules may trust; the zero Addr matches no ClientIP.
	Client netip.Addr

	query  url.Values
	parsed bool

	normal     string
	normalized bool
}

// Reset makes the request ready for another use with the same fields still to be set, forgetting what was derived.
func (r *Request) Reset() { *r = Request{} }

// values returns the values of one query parameter, parsing the query on the first call. Malformed pairs are skipped.
func (r *Request) values(key string) []string {
	if !r.parsed {
		r.query, _ = url.ParseQuery(r.RawQuery)
		r.parsed = true
	}
	return r.query[key]
}

// Normalized returns the path by which nginx would select a location, see [uri.Normalize]. It is empty when nginx would
// refuse the request.
func (r *Request) Normalized() string {
	if !r.normalized {
		r.normal, _ = uri.Normalize(r.Escaped)
		r.normalized = true
	}
	return r.normal
}

// WildcardKey returns what follows the first label of a host, which is the key under which a wildcard host is
// found ("example.com" for "a.example.com"). It is empty when no wildcard can match.
func WildcardKey(host string) string { return expression.WildcardKey(host) }

// Parents yields the domains of which a host can be a subdomain, the longest one first: the keys under which a
// HostSuffix is found.
func Parents(host string) iter.Seq[string] { return expression.Parents(host) }

// SuffixMark begins the names of [Rule.Domains] that stand for all hosts below a domain.
const SuffixMark = expression.SuffixMark
