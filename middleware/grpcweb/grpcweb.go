// Package grpcweb is the middleware grpcWeb: it lets browsers, which can't speak gRPC, call services that speak nothing
// else.
//
// What flows in: a request of gRPC-Web (github.com/grpc/grpc, doc/PROTOCOL-WEB.md), binary or as text, over any version
// of HTTP. What flows out: the same call as gRPC, for a service that is reached over HTTP/2, and its answer as
// gRPC-Web, with the trailers as the last frame of the body. It also answers the preflight requests of such calls. It
// never touches another request, and never keeps a message back.
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
// own), null, or * for all. The name is the middleware's, for the records of requests.
func New(name string, config dynamic.GrpcWeb) (*GRPCWeb, error) {
	allowed, err := parseOrigins(config.AllowOrigins)
	if err != nil {
		return nil, err
	}
	return &GRPCWeb{name: name, origins: allowed}, nil
}

// NoRetain says that no part of a request outlives its handler here.
func (*GRPCWeb) NoRetain() {}

// Counts returns how many calls were translated, how many preflight requests were answered, and how many calls ended
// without a status of gRPC, for which one was made up.
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

// ServeHTTP translates a call, answers a preflight request, and passes everything else on.
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

// call has next answer a call.
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
