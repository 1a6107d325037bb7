package xds_test

import (
	"context"
	"errors"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/xds"
)

// tokens knows users by their tokens.
type tokens map[string]string

func (t tokens) Review(_ context.Context, token string) (user string, ok bool, err error) {
	if token == "unknown" {
		return "", false, errors.New("the API server does not answer")
	}
	return t[token], t[token] != "", nil
}

// TestTokens lets clients in by their tokens.
func TestTokens(t *testing.T) {
	config := &static.XDS{Clients: []static.XDSClient{
		{Identity: "system:serviceaccount:shop:*", Namespaces: []string{"shop"}},
		{Identity: "system:serviceaccount:ops:*", Namespaces: []string{"*"}},
	}}
	known := tokens{
		"shop": "system:serviceaccount:shop:web", "ops": "system:serviceaccount:ops:bot",
		"other": "system:serviceaccount:a:b",
	}
	w := start(t, xds.ServerOptions{Authenticator: xds.NewIdentities(config, known)}, xds.Views(config.Clients)...)
	w.set("k/shop/web:80", address)
	w.set("k/other/web:80", address)
	w.complete(nil, nil)
	for _, test := range []struct {
		header []string
		code   codes.Code
		names  int
	}{
		{nil, codes.Unauthenticated, 0},
		{[]string{"Basic shop"}, codes.Unauthenticated, 0},
		{[]string{"Bearer "}, codes.Unauthenticated, 0},
		{[]string{"Bearer shop", "Bearer ops"}, codes.Unauthenticated, 0},
		{[]string{"Bearer wrong"}, codes.Unauthenticated, 0},
		{[]string{"Bearer unknown"}, codes.Unavailable, 0},
		{[]string{"Bearer other"}, codes.PermissionDenied, 0},
		{[]string{"Bearer shop"}, codes.OK, 1},
		{[]string{"bearer ops"}, codes.OK, 2},
	} {
		ctx := t.Context()
		for _, value := range test.header {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", value)
		}
		var response *discoveryv3.DiscoveryResponse
		var err error
		until(t, "the configuration is complete", func() bool {
			response, err = w.clusters(ctx)
			return status.Convert(err).Message() != "the configuration is not complete yet"
		})
		if status.Code(err) != test.code || len(response.GetResources()) != test.names {
			t.Errorf("%q: %d clusters, %v, want %d, %s", test.header, len(response.GetResources()), err, test.names, test.code)
		}
	}
}

// clusters returns all clusters that a client sees.
func (w *world) clusters(ctx context.Context) (*discoveryv3.DiscoveryResponse, error) {
	w.t.Helper()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(w.raw()).StreamAggregatedResources(ctx)
	if err != nil {
		return nil, err
	}
	_ = stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.ClusterType}) // Recv has the reason.
	return stream.Recv()
}
