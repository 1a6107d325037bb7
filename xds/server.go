package xds

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"
)

const (
	// pingInterval is the silence on a connection after which a ping is sent, and pingTimeout how long its answer may
	// take.
	pingInterval, pingTimeout = 30 * time.Second, 10 * time.Second
	// connectionAge is about how long a connection lasts, so that connections spread over replicas and certificates are
	// checked again; its streams end connectionGrace later.
	connectionAge, connectionGrace = 30 * time.Minute, 5 * time.Minute
	// connectionIdle is how long a connection without streams is kept.
	connectionIdle = 5 * time.Minute
	// connectTimeout is how long a connection may take to begin.
	connectTimeout = 10 * time.Second
	// drainTimeout is how long connections may take to end when the server stops.
	drainTimeout = time.Second
	// maxRequestBytes is the size of the largest request.
	maxRequestBytes = 1 << 20
	// maxHeaderBytes is the size of the largest header list.
	maxHeaderBytes = 16 << 10
	// windowBytes is how much of requests a client may send before they are read.
	windowBytes = 256 << 10
	// bufferBytes is the size of the buffers of a connection.
	bufferBytes = 4 << 10
	// streamsPerConnection bounds the streams of one connection.
	streamsPerConnection = 100
)

// Authenticator decides which namespaces a client may see; nil stands for all. It fails for a client that may see none,
// with a gRPC status.
type Authenticator interface {
	Authenticate(ctx context.Context) (identity string, namespaces []string, err error)
}

// ServerOptions are the options of a Server.
type ServerOptions struct {
	// TLS is nil for connections without TLS.
	TLS *tls.Config
	// Authenticator is nil where every client may see everything.
	Authenticator Authenticator
	// MaxStreams bounds the streams of all clients, and half of it those of one identity; at least 1. There are at most
	// twice as many connections, or 100 if that is more.
	MaxStreams int
}

// Server serves what a Publisher publishes, as aggregated (ADS) streams and as streams of one type, state of the world
// and incremental. Until the Publisher has its first complete state, streams are refused with Unavailable.
type Server struct {
	publisher *Publisher
	options   ServerOptions

	mu      sync.Mutex
	streams map[uint64]*stream
	last    uint64 // id
	// open counts all streams, with those of the client status service, and byIdentity those of each identity.
	open       int
	byIdentity map[string]int
	stopped    bool
}

// NewServer returns a server that listens when Serve is called.
func NewServer(publisher *Publisher, options ServerOptions) *Server {
	return &Server{publisher: publisher, options: options, streams: map[uint64]*stream{}, byIdentity: map[string]int{}}
}

// Serve accepts connections on listener until ctx ends, and closes it.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	options := []grpc.ServerOption{
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: pingInterval, Timeout: pingTimeout, MaxConnectionAge: connectionAge, MaxConnectionAgeGrace: connectionGrace,
			MaxConnectionIdle: connectionIdle,
		}),
		grpc.ConnectionTimeout(connectTimeout),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.MaxConcurrentStreams(streamsPerConnection),
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.InTapHandle(cancelable),
		grpc.ForceServerCodecV2(newCodec()),
		// Most connections are silent most of the time, and messages are small: windows of a fixed size need no measurement
		// of the bandwidth.
		grpc.ReadBufferSize(bufferBytes),
		grpc.WriteBufferSize(bufferBytes),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
		grpc.StreamInterceptor(s.intercept),
		grpc.UnaryInterceptor(s.interceptUnary),
	}
	if s.options.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.options.TLS)))
	}
	server := grpc.NewServer(options...)
	s.register(server)
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	background.Go(func() { s.endOverdue(ctx) })
	background.Go(func() {
		<-ctx.Done()
		s.stop()
		force := time.AfterFunc(drainTimeout, server.Stop)
		defer force.Stop()
		server.GracefulStop()
	})
	if err := server.Serve(s.bounded(listener)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("xds: %w", err)
	}
	return nil
}

func (s *Server) register(server *grpc.Server) {
	service := &services{server: s}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, service)
	listenerv3.RegisterListenerDiscoveryServiceServer(server, service)
	routev3.RegisterRouteDiscoveryServiceServer(server, service)
	clusterv3.RegisterClusterDiscoveryServiceServer(server, service)
	endpointv3.RegisterEndpointDiscoveryServiceServer(server, service)
	statusv3.RegisterClientStatusDiscoveryServiceServer(server, service)
}

// stop ends all streams; later ones are refused.
func (s *Server) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	for _, one := range s.snapshot() {
		one.cancel(nil)
	}
}

// cancelKey is the key of the function in a context that cancels it, and streamKey that of the state of a stream.
type (
	cancelKey struct{}
	streamKey struct{}
)

// cancelable gives the context of a call a function that cancels it: a stream that waits for a request or for room to
// send ends with its context.
func cancelable(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, cancelKey{}, cancel), nil
}

// admit returns the state of a new stream, with what its client may see.
func (s *Server) admit(ctx context.Context) (*stream, error) {
	select {
	case <-s.publisher.ready:
	default:
		return nil, status.Error(codes.Unavailable, "the configuration is not complete yet")
	}
	one := &stream{
		publisher: s.publisher, view: s.publisher.all, since: time.Now(), cancel: func(error) {},
	}
	if cancel, ok := ctx.Value(cancelKey{}).(context.CancelCauseFunc); ok {
		one.cancel = cancel
	}
	if from, ok := peer.FromContext(ctx); ok {
		one.address, one.connection = from.Addr.String(), connectionOf(ctx)
	}
	if s.options.Authenticator == nil {
		return one, nil
	}
	var err error
	if one.identity, one.namespaces, err = s.options.Authenticator.Authenticate(ctx); err != nil {
		return nil, err
	}
	if one.view = s.publisher.view(one.namespaces); one.view == nil {
		return nil, status.Error(codes.PermissionDenied, "the client may see no namespace")
	}
	return one, nil
}

// interceptUnary admits the calls of the client status service.
func (s *Server) interceptUnary(
	ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	if _, err := s.admitStatus(ctx); err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

// admitStatus admits a client that may see everything: the status of clients has the names of all that they use.
func (s *Server) admitStatus(ctx context.Context) (*stream, error) {
	one, err := s.admit(ctx)
	if err == nil && one.namespaces != nil {
		err = status.Error(codes.PermissionDenied, "the client is bound to namespaces")
	}
	return one, err
}

// intercept admits a stream and follows it.
func (s *Server) intercept(
	server any, inner grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler,
) error {
	if info.FullMethod == statusv3.ClientStatusDiscoveryService_StreamClientStatus_FullMethodName {
		one, err := s.admitStatus(inner.Context())
		if err != nil {
			return err
		}
		if err := s.count(one.identity); err != nil {
			return err
		}
		defer s.discount(one.identity)
		return handler(server, inner)
	}
	one, err := s.admit(inner.Context())
	if err != nil {
		return err
	}
	one.send = func(message proto.Message) error { return inner.SendMsg(&response{message, &one.deliveries}) }
	one.protocol = world{}
	if strings.Contains(info.FullMethod, "/Delta") {
		one.protocol = delta{}
	}
	if err := s.begin(one); err != nil {
		return err
	}
	defer s.end(one)
	// Without compression, gRPC holds what codec has made until it is written.
	if err := grpc.SetSendCompressor(inner.Context(), encoding.Identity); err != nil {
		return err
	}
	// A client that has not subscribed to anything yet gets to know that it is admitted.
	if err := inner.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	return handler(server, &admittedStream{inner, context.WithValue(inner.Context(), streamKey{}, one)})
}

// count counts a stream unless there are too many.
func (s *Server) count(identity string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.options.MaxStreams {
		return status.Error(codes.ResourceExhausted, "too many streams (xds.maxStreams)")
	}
	if identity != "" && s.byIdentity[identity] >= max(s.options.MaxStreams/2, 1) {
		return status.Error(codes.ResourceExhausted, "too many streams of the identity (half of xds.maxStreams)")
	}
	s.open++
	if identity != "" {
		s.byIdentity[identity]++
	}
	s.publisher.options.Meter.Streams(1)
	return nil
}

func (s *Server) discount(identity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.byIdentity[identity]--; s.byIdentity[identity] <= 0 {
		delete(s.byIdentity, identity)
	}
	s.publisher.options.Meter.Streams(-1)
}

// begin adds a stream to the list unless there are too many.
func (s *Server) begin(one *stream) error {
	if err := s.count(one.identity); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		one.cancel(nil)
	}
	s.last++
	one.id = s.last
	s.streams[one.id] = one
	return nil
}

func (s *Server) end(one *stream) {
	s.mu.Lock()
	delete(s.streams, one.id)
	s.mu.Unlock()
	s.discount(one.identity)
	one.cancel(nil)
	one.end()
}

// admittedStream is a stream with its state in the context.
type admittedStream struct {
	grpc.ServerStream

	ctx context.Context
}

// Context returns the context of the stream.
func (a *admittedStream) Context() context.Context { return a.ctx }

// worldStream and deltaStream are the streams of the two protocols.
type (
	worldStream = grpc.BidiStreamingServer[discoveryv3.DiscoveryRequest, discoveryv3.DiscoveryResponse]
	deltaStream = grpc.BidiStreamingServer[discoveryv3.DeltaDiscoveryRequest, discoveryv3.DeltaDiscoveryResponse]
)

// serveWorld serves a state-of-the-world stream of one type, or of all for resource.AnyType.
func (s *Server) serveWorld(inner worldStream, typeURL string) error {
	return receive(inner, typeURL, streamOf(inner.Context()).takeWorld)
}

// serveDelta serves an incremental stream.
func (s *Server) serveDelta(inner deltaStream, typeURL string) error {
	return receive(inner, typeURL, streamOf(inner.Context()).takeDelta)
}

// typed is a request of either protocol.
type typed interface{ GetTypeUrl() string }

// requests is the receiving side of a stream.
type requests[Request typed] interface {
	Context() context.Context
	Recv() (Request, error)
}

// receive passes the requests of a stream on with their types, and sends what is due then, until the stream ends.
func receive[Request typed](
	inner requests[Request], served string, take func(request Request, typeURL string) error,
) error {
	one := streamOf(inner.Context())
	for {
		request, err := inner.Recv()
		if err != nil {
			return ending(inner.Context(), err)
		}
		typeURL, err := typeOf(request.GetTypeUrl(), served)
		if err != nil {
			return err
		}
		if err := one.handle(func() error { return take(request, typeURL) }); err != nil {
			return err
		}
	}
}

// streamOf returns the state of a stream.
func streamOf(ctx context.Context) *stream {
	one, _ := ctx.Value(streamKey{}).(*stream)
	return one
}

// typeOf returns the type of a request, which may leave it out on a stream of one type.
func typeOf(requested, served string) (string, error) {
	switch {
	case requested == "" && served == resource.AnyType:
		return "", status.Error(codes.InvalidArgument, "the request has no type")
	case requested == "":
		return served, nil
	case served != resource.AnyType && requested != served:
		return "", status.Errorf(codes.InvalidArgument, "the stream is for %s", served)
	}
	return requested, nil
}

// ending returns the error that ends a stream of which no request can be received any more.
func ending(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		if _, ok := status.FromError(cause); ok {
			return cause
		}
		return nil // The server stops.
	}
	return err
}
