// Package answer has what is known of the answer to a probe, and compares two answers.
package answer

import (
	"context"
	"net/http"

	"github.com/sluiceproxy/sluice/migrate/probe"
)

// Answerer answers probes. It is used by several goroutines.
type Answerer interface {
	// Answer returns the answer to a probe. The error is for what is no answer, such as a lost connection.
	Answer(ctx context.Context, p probe.Probe) (Answer, error)
}

// Answer is what a client and an endpoint see of a request.
type Answer struct {
	// Status is that of the response. That of an endpoint is 200 where no endpoint is asked.
	Status int `json:"status"`
	// Header has the headers of the response that the proxy sets: Location, Set-Cookie, WWW-Authenticate,
	// Strict-Transport-Security, Access-Control-*, and Content-Type where no endpoint answers.
	Header http.Header `json:"header,omitempty"`
	// Upstream is what the endpoint receives; nil when none receives the request, or when that is not known.
	Upstream *Upstream `json:"upstream,omitempty"`
	// Blind says that Upstream is not known, and that Status and Header may be an endpoint's.
	Blind bool `json:"blind,omitempty"`
	// Ingress is NAMESPACE/NAME of the Ingress that decides; empty for none, or when that is not known.
	Ingress string `json:"ingress,omitempty"`
	// Step is where the answer is made.
	Step Step `json:"step,omitempty"`
	// Reason is why a location is closed; empty for one that is not, or when that is not known.
	Reason string `json:"reason,omitempty"`
	// Notes are what the answer depends on beside the request, such as limits.
	Notes []string `json:"notes,omitempty"`
}

// Upstream is a request as an endpoint receives it.
type Upstream struct {
	// Service is NAMESPACE/NAME:PORT.
	Service string `json:"service"`
	// Others are Services of which one may receive the request instead, by chance.
	Others []string `json:"others,omitempty"`
	Method string   `json:"method"`
	// Target is path and query, as they are sent.
	Target string `json:"target"`
	Host   string `json:"host"`
	// Header has the other headers.
	Header http.Header `json:"header,omitempty"`
}

// Step is where an answer is made.
type Step string

// The steps of nginx, in their order.
const (
	Parse       Step = "request line"
	ClientTLS   Step = "client certificate"
	ServerStep  Step = "host"
	BodySize    Step = "body size"
	Slash       Step = "slash redirect"
	Denied      Step = "denied location"
	Preflight   Step = "preflight"
	Cycle       Step = "cycle of rewrites"
	Return      Step = "redirect"
	HTTPS       Step = "redirect to https"
	Addresses   Step = "addresses"
	Password    Step = "password"
	AuthRequest Step = "external authentication"
	NoEndpoint  Step = "no endpoint"
	Forward     Step = "endpoint"
	Default     Step = "default backend"
)

// Certain reports whether the same request always has the same Service.
func (u *Upstream) Certain() bool { return len(u.Others) == 0 }
