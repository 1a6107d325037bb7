package harness

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"
)

// NewGRPC returns a client of a Backend's gRPC service that connects to the address and requests the host: with TLS, or
// without if the settings are nil.
func NewGRPC(t testing.TB, address, host string, settings *tls.Config) grpc_testing.TestServiceClient {
	t.Helper()
	transport := insecure.NewCredentials()
	if settings != nil {
		own := settings.Clone()
		own.ServerName = host
		transport = credentials.NewTLS(own)
	}
	connection, err := grpc.NewClient("passthrough:///"+host,
		grpc.WithTransportCredentials(transport), grpc.WithAuthority(host), grpc.WithNoProxy(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return grpc_testing.NewTestServiceClient(connection)
}
