package xds_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluiceproxy/sluice/xds"
)

// namesOf returns names of a client, of some length at least.
func namesOf(client, number, length int) []string {
	all := make([]string, number)
	for i := range all {
		text := fmt.Sprintf("%d-%d-", client, i)
		all[i] = text + strings.Repeat("x", max(length-len(text), 0))
	}
	return all
}

// TestNamesThatDoNotExistAreBounded has many clients subscribe to names that do not exist. Those beyond the bound are
// refused in both protocols; those that another client has too, and those that exist, are not. The names of a client
// that is gone are not counted any more.
func TestNamesThatDoNotExistAreBounded(t *testing.T) {
	for what, test := range map[string]struct{ clients, number, length, beyond int }{
		"number": {20, 10_000, 0, 1},
		"size":   {32, 9, 116_000, 2},
	} {
		t.Run(what, func(t *testing.T) {
			w := start(t, xds.ServerOptions{})
			w.set("k/a/one:80", address)
			w.ready()
			channel := w.raw()
			gone, leave := context.WithCancel(t.Context())
			for i := range test.clients {
				ctx := t.Context()
				if i == 0 {
					ctx = gone
				}
				if err := takes(ctx, channel, namesOf(i, test.number, test.length)...); err != nil {
					t.Fatalf("client %d: %v", i, err)
				}
			}
			beyond := namesOf(test.clients, test.beyond, test.length)
			if err := takes(t.Context(), channel, beyond...); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("state of the world: %v, want ResourceExhausted", err)
			}
			delta, err := discoveryv3.NewAggregatedDiscoveryServiceClient(channel).DeltaAggregatedResources(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = delta.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNamesSubscribe: beyond})
			if _, err := delta.Recv(); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("incremental: %v, want ResourceExhausted", err)
			}
			others := append(namesOf(1, test.number-1, test.length), "k/a/one:80")
			if err := takes(t.Context(), channel, others...); err != nil {
				t.Errorf("names that exist or that others have: %v", err)
			}
			leave()
			until(t, "there is room for other names", func() bool { return takes(t.Context(), channel, beyond...) == nil })
		})
	}
}

// takes has a stream, which is open until ctx ends, subscribe to endpoints, and reports whether the server takes them.
func takes(ctx context.Context, channel *grpc.ClientConn, names ...string) error {
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(channel).StreamAggregatedResources(ctx)
	if err != nil {
		return err
	}
	_ = stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNames: names})
	// This request is answered after the one before, whatever exists.
	_ = stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.ListenerType})
	_, err = stream.Recv()
	return err
}
