// Package probe generates requests at the edges of what Ingresses declare: where two proxies that read the same
// Ingresses may answer differently.
package probe

import "net/http"

// Probe is a request.
type Probe struct {
	Method string `json:"method"`
	// Scheme is http or https. With https, the name of the handshake (SNI) is that of Host.
	Scheme string `json:"scheme"`
	// Host is the Host header; it may have a port.
	Host string `json:"host"`
	// Target is path and query, as they are sent.
	Target string `json:"target"`
	// Header has the other headers under their canonical names.
	Header http.Header `json:"header,omitempty"`
	// Length is the length of a body of zeros, in bytes.
	Length int64 `json:"length,omitempty"`
	// Client is the address of the client; empty for 192.0.2.1, of a documentation range (RFC 5737).
	Client string `json:"client,omitempty"`
	// Reason is what the probe is about.
	Reason Reason `json:"reason"`
	// Ingress is NAMESPACE/NAME of the Ingress whose edge it is; empty for the catch-all.
	Ingress string `json:"ingress,omitempty"`
	// Path is the path of the Ingress; empty for what is about the whole host.
	Path string `json:"path,omitempty"`
}

// DefaultClient is the client's address of probes that have none.
const DefaultClient = "192.0.2.1"

// String returns the method and the URL.
func (p Probe) String() string { return p.Method + " " + p.Scheme + "://" + p.Host + p.Target }

// Harmless reports whether the probe may be sent to a server in operation: by its method it changes nothing (RFC 9110,
// section 9.2.1), and it has neither a body nor a client's address of its own.
func (p Probe) Harmless() bool {
	switch p.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return p.Length == 0 && p.Client == ""
	}
	return false
}

// Reason is what a probe is about.
type Reason string

// The reasons of probes.
const (
	Declared       Reason = "the path as it is declared"
	FinalSlash     Reason = "with a final slash"
	NoFinalSlash   Reason = "without the final slash"
	Longer         Reason = "one byte more"
	Shorter        Reason = "one byte less"
	Segment        Reason = "one segment more"
	Case           Reason = "letters in the other case"
	DoubleSlash    Reason = "adjacent slashes"
	EncodedSlash   Reason = "an encoded slash"
	EncodedLetter  Reason = "an encoded letter"
	DotSegment     Reason = "dot segments"
	FinalDot       Reason = "a final dot segment"
	MatrixSuffix   Reason = "a parameter behind a segment"
	Malformed      Reason = "a malformed encoding"
	Query          Reason = "a query"
	Literal        Reason = "characters of expressions, taken literally"
	Matching       Reason = "a path that the expression matches"
	UnknownPath    Reason = "a path that is not declared"
	UnknownHost    Reason = "a host that is not declared"
	HostPort       Reason = "a host with port"
	HostCase       Reason = "a host in capital letters"
	Alias          Reason = "an alias of the host"
	Twin           Reason = "the host with or without www."
	Label          Reason = "two labels in place of a wildcard"
	Plain          Reason = "without TLS"
	Secure         Reason = "with TLS"
	Preflight      Reason = "a preflight from an allowed origin"
	BadPreflight   Reason = "a preflight from another origin"
	BareOptions    Reason = "OPTIONS without an origin"
	Origin         Reason = "a request from an allowed origin"
	BadOrigin      Reason = "a request from another origin"
	NoCredentials  Reason = "without credentials"
	BadCredentials Reason = "with wrong credentials"
	SomeCookie     Reason = "with a cookie"
	BodyAtLimit    Reason = "a body as long as allowed"
	BodyOverLimit  Reason = "a body of one byte more than allowed"
	CanaryAlways   Reason = "the header of the canary: always"
	CanaryNever    Reason = "the header of the canary: never"
	CanaryValue    Reason = "the header of the canary with its value"
	CanaryOther    Reason = "the header of the canary with another value"
	CookieAlways   Reason = "the cookie of the canary: always"
	CookieNever    Reason = "the cookie of the canary: never"
	ListedClient   Reason = "from an address in a list"
	OtherClient    Reason = "from an address in no list"
)
