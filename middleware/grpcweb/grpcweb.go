// Package grpcweb implements the middleware grpcWeb, which lets browsers call gRPC services.
//
// A gRPC-Web request (github.com/grpc/grpc, doc/PROTOCOL-WEB.md), binary or text, over any version of HTTP becomes a
// gRPC call to a service that is reached over HTTP/2. The response becomes gRPC-Web, with the trailers as last frame of
// the body. Preflight requests of such calls are answered. Messages are not buffered, and other requests pass
// unchanged.
package grpcweb

import (
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
)

// GRPCWeb is one configured grpcWeb.
type GRPCWeb struct {
	name    string
	origins origins

	calls, preflights, broken atomic.Uint64
}

// New checks the definition. allowOrigins lists origins (https://example.com, with a port where it is not the scheme's
// own), null, or * for all. The name is used in the records of requests.
func New(name string, config dynamic.GrpcWeb) (*GRPCWeb, error) {
	allowed, err := parseOrigins(config.AllowOrigins)
	if err != nil {
		return nil, err
	}
	return &GRPCWeb{name: name, origins: allowed}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*GRPCWeb) NoRetain() {}

// Counts returns the number of translated calls, of preflight requests, and of calls without a gRPC status, which was
// added.
func (g *GRPCWeb) Counts() map[string]uint64 {
	return map[string]uint64{"calls": g.calls.Load(), "preflights": g.preflights.Load(), "broken": g.broken.Load()}
}

// Wrap returns a handler that translates calls of gRPC-Web for next.
func (g *GRPCWeb) Wrap(next http.Handler) http.Handler { return &step{web: g, next: next} }

// step is the middleware of one router.
type step struct {
	web  *GRPCWeb
	next http.Handler
}

// ServeHTTP translates calls, answers preflight requests, and passes everything else on.
func (s *step) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		if kinds := r.Header["Content-Type"]; len(kinds) == 1 {
			if kind, ok := parseKind(kinds[0]); ok {
				s.web.call(w, r, kind, s.next)
				return
			}
		}
	case http.MethodOptions:
		if preflight(r.Header) {
			s.web.preflight(w, r)
			return
		}
	}
	s.next.ServeHTTP(w, r)
}

// call serves a call by next.
func (g *GRPCWeb) call(w http.ResponseWriter, r *http.Request, called kind, next http.Handler) {
	g.calls.Add(1)
	answer := &reply{text: wantsText(r.Header, called), origin: g.origins.of(r.Header)}
	answer.Writer.ResponseWriter, answer.Writer.Editor = w, answer
	translate(r, called)
	next.ServeHTTP(answer, r)
	if !answer.finish() {
		g.broken.Add(1)
	}
}
