package kubernetes

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	typeurl "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// subscribersVariable has this binary be the xDS clients: its value is their JSON.
const subscribersVariable = "BENCH_XDS"

// subscribers says which xDS clients a process is.
type subscribers struct {
	Address string
	// Streams is their number, each over a connection of its own, with Names services of all Services.
	Streams, Names, Services int
	// Deaf is how many more streams subscribe and then read nothing.
	Deaf int
}

// pushed is what the clients have received since the last report.
type pushed struct {
	// Synced is how many streams have the endpoints of all their services.
	Synced int
	// Pushes counts responses with endpoints, and First is when one of a service came first, in nanoseconds since 1970.
	Pushes int
	First  map[string]int64
	// Error is the first failure.
	Error string
}

// reporter collects what all streams receive.
type reporter struct {
	mu sync.Mutex
	pushed
}

func (r *reporter) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Error == "" {
		r.Error = err.Error()
	}
}

// subscribe is the process of the clients. It answers each line with a report, and ends with its input.
func subscribe(config string, in io.Reader, out io.Writer) int {
	var all subscribers
	if err := json.Unmarshal([]byte(config), &all); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := &reporter{pushed: pushed{First: map[string]int64{}}}
	var running sync.WaitGroup
	for s := range all.Streams + all.Deaf {
		running.Go(func() {
			if err := all.stream(ctx, s, r); err != nil && ctx.Err() == nil {
				r.fail(err)
			}
		})
		if s%50 == 49 {
			pause(ctx, 10*time.Millisecond) // The kernel's queue of connections is short.
		}
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		r.mu.Lock()
		_ = json.NewEncoder(out).Encode(r.pushed)
		r.Pushes, r.First = 0, map[string]int64{}
		r.mu.Unlock()
	}
	cancel()
	running.Wait()
	return 0
}

// stream is one client: it follows listeners, routes, clusters and endpoints as a gRPC client does.
func (all subscribers) stream(ctx context.Context, s int, r *reporter) error {
	connection, err := grpc.NewClient(all.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close() //nolint:errcheck // It is not used any more.
	inner, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).StreamAggregatedResources(ctx,
		grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	names := map[string][]string{}
	for k := range all.Names {
		i := (s*all.Names + k) % all.Services
		names[typeurl.ListenerType] = append(names[typeurl.ListenerType],
			fmt.Sprintf("%s.%s:80", service(i), namespace(i)))
	}
	names[typeurl.RouteType], names[typeurl.ClusterType] = names[typeurl.ListenerType], names[typeurl.ListenerType]
	node := &corev3.Node{Id: fmt.Sprintf("bench-%d", s), UserAgentName: "gRPC Go"}
	if err := inner.Send(&discoveryv3.DiscoveryRequest{
		Node: node, TypeUrl: typeurl.ListenerType, ResourceNames: names[typeurl.ListenerType],
	}); err != nil {
		return err
	}
	known := map[string]bool{}
	for {
		response, err := inner.Recv()
		if err != nil {
			return err
		}
		if err := all.receive(response, names, known, r); err != nil {
			return err
		}
		if err := inner.Send(&discoveryv3.DiscoveryRequest{
			TypeUrl: response.GetTypeUrl(), ResourceNames: names[response.GetTypeUrl()],
			VersionInfo: response.GetVersionInfo(), ResponseNonce: response.GetNonce(),
		}); err != nil {
			return err
		}
		if next := following(response.GetTypeUrl()); next != "" && !known[next] && len(names[next]) > 0 {
			known[next] = true
			if err := inner.Send(&discoveryv3.DiscoveryRequest{TypeUrl: next, ResourceNames: names[next]}); err != nil {
				return err
			}
		}
		if s >= all.Streams && response.GetTypeUrl() == typeurl.EndpointType {
			<-ctx.Done() // It reads no more.
			return ctx.Err()
		}
	}
}

// following returns the type that a client subscribes to next.
func following(typeURL string) string {
	switch typeURL {
	case typeurl.ListenerType:
		return typeurl.RouteType
	case typeurl.RouteType:
		return typeurl.ClusterType
	case typeurl.ClusterType:
		return typeurl.EndpointType
	}
	return ""
}

// receive notes what has come.
func (all subscribers) receive(
	response *discoveryv3.DiscoveryResponse, names map[string][]string, known map[string]bool, r *reporter,
) error {
	switch response.GetTypeUrl() {
	case typeurl.ClusterType:
		if known[typeurl.EndpointType] {
			return nil
		}
		for _, one := range response.GetResources() {
			cluster := &clusterv3.Cluster{}
			if err := one.UnmarshalTo(cluster); err != nil {
				return err
			}
			names[typeurl.EndpointType] = append(names[typeurl.EndpointType], cluster.GetEdsClusterConfig().GetServiceName())
		}
	case typeurl.EndpointType:
		now := time.Now().UnixNano()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Pushes++
		for _, one := range response.GetResources() {
			assignment := &endpointv3.ClusterLoadAssignment{}
			if err := one.UnmarshalTo(assignment); err != nil {
				return err
			}
			if name := assignment.GetClusterName(); known[name] {
				if r.First[name] == 0 {
					r.First[name] = now
				}
			} else if known[name] = true; len(known) == all.Names+3 { // With three types.
				r.Synced++
			}
		}
	}
	return nil
}

// clients is the process of xDS clients.
type clients struct{ *child }

// newClients starts xDS clients and waits until all have the endpoints of their services.
func newClients(tb testing.TB, which subscribers) *clients {
	tb.Helper()
	config, err := json.Marshal(which)
	if err != nil {
		tb.Fatal(err)
	}
	c := &clients{startChild(tb, subscribersVariable+"="+string(config))}
	for begun := time.Now(); c.report(tb).Synced < which.Streams; pause(tb.Context(), 100*time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			tb.Fatalf("the clients are not synced: %+v", c.report(tb))
		}
	}
	return c
}

// report returns what the clients have received since the last call.
func (c *clients) report(tb testing.TB) pushed {
	tb.Helper()
	var report pushed
	if c.ask(tb, &report); report.Error != "" {
		tb.Fatal(report.Error)
	}
	return report
}
