package image

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/encoding/protowire"
)

// grpcService is the service of the conformance tests: Echo and EchoTwo answer with a description of the call,
// EchoThree is unknown to it. Messages are encoded here, since the generated code is part of the tests' module.
const grpcService = "gateway_api_conformance.echo_basic.grpcecho.GrpcEcho"

// startGRPC starts servers on HTTP_PORT (3000) and, with a certificate, with TLS on HTTPS_PORT (8443).
func startGRPC(c Container, host string) ([]program, error) {
	plain, err := serveGRPC(c, host, c.env("HTTP_PORT", "3000"), nil)
	if err != nil {
		return nil, err
	}
	settings, err := c.settings("TLS_SERVER_CERT", "TLS_SERVER_PRIV_KEY")
	if err != nil || settings == nil {
		return []program{plain}, err
	}
	encrypted, err := serveGRPC(c, host, c.env("HTTPS_PORT", "8443"), settings)
	if err != nil {
		return []program{plain}, err
	}
	return []program{plain, encrypted}, nil
}

// grpcServer is a running gRPC server.
type grpcServer struct {
	*grpc.Server
	serving sync.WaitGroup
}

func serveGRPC(c Container, host, port string, settings *tls.Config) (*grpcServer, error) {
	listener, err := listen(host, port)
	if err != nil {
		return nil, err
	}
	options := []grpc.ServerOption{grpc.ForceServerCodecV2(rawCodec{})}
	if settings != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(settings)))
	}
	g := &grpcServer{Server: grpc.NewServer(options...)}
	g.RegisterService(&grpc.ServiceDesc{
		ServiceName: grpcService,
		Methods: []grpc.MethodDesc{
			{MethodName: "Echo", Handler: handler(c, "Echo")}, {MethodName: "EchoTwo", Handler: handler(c, "EchoTwo")},
		},
	}, nil)
	g.serving.Go(func() { _ = g.Serve(listener) }) // returns nil after Stop
	return g, nil
}

func (g *grpcServer) finish(ctx context.Context) {
	ended := context.AfterFunc(ctx, g.Stop)
	defer ended()
	g.GracefulStop()
}

func (g *grpcServer) kill() {
	g.Stop()
	g.serving.Wait()
}

// handler returns a method's handler.
func handler(c Container, method string) grpc.MethodHandler {
	return func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var request []byte
		if err := decode(&request); err != nil {
			return nil, err
		}
		c.printf("Received call of %s\n", method)
		return response(ctx, c.identity(), method, request), nil
	}
}

// response encodes an EchoResponse: assertions = 1, request = 2.
func response(ctx context.Context, pod identity, method string, request []byte) []byte {
	message := field(nil, 1, assertions(ctx, pod, method))
	return field(message, 2, request)
}

// assertions encodes Assertions: fully_qualified_method = 1, headers = 2, authority = 3, context = 4,
// tls_assertions = 5.
func assertions(ctx context.Context, pod identity, method string) []byte {
	received, _ := metadata.FromIncomingContext(ctx)
	message := field(nil, 1, []byte("/"+grpcService+"/"+method))
	var authority string
	for key, values := range received {
		for _, value := range values {
			header := field(nil, 1, []byte(key))
			message = field(message, 2, field(header, 2, []byte(value)))
			if key == ":authority" {
				authority = value
			}
		}
	}
	message = field(message, 3, []byte(authority))
	var who []byte
	for i, text := range []string{pod.Namespace, pod.Ingress, pod.Service, pod.Pod} {
		who = field(who, protowire.Number(i+1), []byte(text))
	}
	message = field(message, 4, who)
	if state := connectionState(ctx); state != nil {
		message = field(message, 5, tlsAssertions(describe(state)))
	}
	return message
}

// tlsAssertions encodes TLSAssertions: version = 1, negotiated_protocol = 2, server_name = 3, cipher_suite = 4,
// peer_certificates = 5.
func tlsAssertions(h *handshake) []byte {
	var message []byte
	for i, text := range []string{h.Version, h.NegotiatedProtocol, h.ServerName, h.CipherSuite} {
		message = field(message, protowire.Number(i+1), []byte(text))
	}
	for _, certificate := range h.PeerCertificates {
		message = field(message, 5, []byte(certificate))
	}
	return message
}

// connectionState returns the state of a call's TLS connection, or nil.
func connectionState(ctx context.Context) *tls.ConnectionState {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return nil
	}
	return &info.State
}

// field appends a field of a string, bytes or a message.
func field(message []byte, number protowire.Number, value []byte) []byte {
	message = protowire.AppendTag(message, number, protowire.BytesType)
	return protowire.AppendBytes(message, value)
}

// rawCodec leaves messages encoded.
type rawCodec struct{}

// Marshal takes a message as bytes.
func (rawCodec) Marshal(message any) (mem.BufferSlice, error) {
	encoded, ok := message.([]byte)
	if !ok {
		return nil, fmt.Errorf("message of type %T", message)
	}
	return mem.BufferSlice{mem.SliceBuffer(encoded)}, nil
}

// Unmarshal returns a message as bytes.
func (rawCodec) Unmarshal(data mem.BufferSlice, message any) error {
	encoded, ok := message.(*[]byte)
	if !ok {
		return fmt.Errorf("message of type %T", message)
	}
	*encoded = data.Materialize()
	return nil
}

// Name is the subtype in the content-type.
func (rawCodec) Name() string { return "proto" }
