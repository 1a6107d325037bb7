// Package propagategrpc hands the tag of a virtual environment on through gRPC: interceptors of a server read it from
// the metadata of incoming calls into the context, interceptors of a client write it from there into the metadata of
// outgoing ones. The settings are those of a [propagate.Propagator]; the key of the metadata is its header in lower
// case.
//
// It is a module of its own, so that applications which only use net/http do not depend on gRPC.
package propagategrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/sluiceproxy/sluice/sdk/propagate"
)

// UnaryServerInterceptor returns an interceptor that reads the tag of unary calls into their context.
func UnaryServerInterceptor(p propagate.Propagator) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return handler(extract(ctx, p), req)
	}
}

// StreamServerInterceptor returns an interceptor that reads the tag of streams into their context.
func StreamServerInterceptor(p propagate.Propagator) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return handler(srv, &serverStream{ServerStream: stream, ctx: extract(stream.Context(), p)})
	}
}

// UnaryClientInterceptor returns an interceptor that adds the tag to unary calls which have none, where the host of the
// connection's target is allowed. The host of a Unix socket is localhost. A target of the scheme xds is allowed unless
// [propagate.Propagator.AllowHost] is set, since its name is one of the control plane.
func UnaryClientInterceptor(p propagate.Propagator) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		return invoker(inject(ctx, p, cc), method, req, reply, cc, opts...)
	}
}

// StreamClientInterceptor returns an interceptor that adds the tag to streams which have none, where the target of the
// connection is allowed, as for [UnaryClientInterceptor].
func StreamClientInterceptor(p propagate.Propagator) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
		opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		return streamer(inject(ctx, p, cc), desc, cc, method, opts...)
	}
}

// serverStream is a stream with another context.
type serverStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context returns the context with the tag.
func (s *serverStream) Context() context.Context { return s.ctx }

// extract returns the context of an incoming call with its tag.
func extract(ctx context.Context, p propagate.Propagator) context.Context {
	return p.Extract(ctx, incoming{ctx})
}

// inject returns the context of an outgoing call with the tag in its metadata, if the target is allowed.
func inject(ctx context.Context, p propagate.Propagator, cc *grpc.ClientConn) context.Context {
	if !allows(p, cc.CanonicalTarget()) {
		return ctx
	}
	sent, _ := metadata.FromOutgoingContext(ctx) // A copy.
	carrier := &outgoing{sent: sent}
	p.Inject(ctx, carrier)
	if !carrier.changed {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, carrier.sent)
}
