package propagategrpc_test

import (
	"context"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/sluiceproxy/sluice/sdk/propagate"
	"github.com/sluiceproxy/sluice/sdk/propagate/propagategrpc"
)

// A server and a client, both with interceptors.
func Example() {
	p := propagate.Propagator{DefaultTag: propagate.TagFromEnvironment()}
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(propagategrpc.UnaryServerInterceptor(p)),
		grpc.ChainStreamInterceptor(propagategrpc.StreamServerInterceptor(p)))
	healthpb.RegisterHealthServer(server, printer{})
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	connection, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(propagategrpc.UnaryClientInterceptor(p)),
		grpc.WithChainStreamInterceptor(propagategrpc.StreamClientInterceptor(p)))
	if err != nil {
		panic(err)
	}
	defer func() { _ = connection.Close() }()
	ctx := propagate.WithTag(context.Background(), "dev.proj1.feature1")
	if _, err := healthpb.NewHealthClient(connection).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		panic(err)
	}
	// Output: tag dev.proj1.feature1, metadata [dev.proj1.feature1]
}

// printer prints the tag of each call.
type printer struct {
	healthpb.UnimplementedHealthServer
}

// Check prints the tag.
func (printer) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	sent := metadata.ValueFromIncomingContext(ctx, "x-virtual-env")
	_, _ = fmt.Fprintf(os.Stdout, "tag %s, metadata %s\n", propagate.Tag(ctx), sent)
	return &healthpb.HealthCheckResponse{}, nil
}
