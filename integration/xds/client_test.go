package xds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"
	grpcxds "google.golang.org/grpc/xds"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// turn is the time between two calls of one worker, workers how many make unary calls to a Service.
	turn    = 20 * time.Millisecond
	workers = 2
	// messages is how many messages a stream has, one every turn.
	messages = 10
	// patience is the deadline of a call.
	patience = 15 * time.Second
)

// client calls Services until the test ends.
type client interface {
	// start begins calls to a Service, given as service.namespace.
	start(service string)
	// tally returns the results so far.
	tally() scores
	// String is the client's name.
	String() string
}

// call makes one call and returns the pod that has answered.
type call func(ctx context.Context) (pod string, err error)

// local is a client in this process.
type local struct {
	*board

	t     testing.TB
	name  string
	calls func(service string) map[string]call // by their kinds
	stop  context.CancelFunc
	ctx   context.Context
	busy  sync.WaitGroup
}

func newLocal(t testing.TB, name string, calls func(service string) map[string]call) *local {
	l := &local{board: newBoard(), t: t, name: name, calls: calls}
	l.ctx, l.stop = context.WithCancel(t.Context())
	t.Cleanup(func() { l.stop(); l.busy.Wait() })
	return l
}

func (l *local) String() string { return l.name }

func (l *local) start(service string) {
	for kind, call := range l.calls(service) {
		count := workers
		if kind == stream {
			count = 1
		}
		for range count {
			l.busy.Go(func() { l.run(key(service, kind), call) })
		}
	}
}

func (l *local) run(name string, call call) {
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-l.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(l.ctx, patience)
		pod, err := call(ctx)
		cancel()
		if l.ctx.Err() != nil {
			return
		}
		l.note(name, pod, err)
	}
}

// bootstrap is the configuration of a gRPC client.
func bootstrap(node string) string {
	return fmt.Sprintf(`{"xds_servers":[{"server_uri":%q,"channel_creds":[{"type":"insecure"}],`+
		`"server_features":["xds_v3"]}],"node":{"id":%q,"locality":{}}}`, serverAddress, node) // grpc-js wants a locality.
}

// dialXDS returns a channel to a listener, given as service.namespace:port or name@provider.
func dialXDS(t testing.TB, listener string) grpc_testing.TestServiceClient {
	t.Helper()
	return dialBootstrap(t, bootstrap("go"), listener)
}

// dialBootstrap does the same with another configuration.
func dialBootstrap(t testing.TB, config, listener string) grpc_testing.TestServiceClient {
	t.Helper()
	resolver, err := grpcxds.NewXDSResolverWithConfigForTesting([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return dial(t, "xds:///"+listener, grpc.WithResolvers(resolver))
}

func dial(t testing.TB, target string, options ...grpc.DialOption) grpc_testing.TestServiceClient {
	t.Helper()
	channel, err := grpc.NewClient(target, append(options, grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = channel.Close() })
	return grpc_testing.NewTestServiceClient(channel)
}

// newGRPC is grpc-go by xDS.
func newGRPC(t testing.TB) *local {
	return newLocal(t, "grpc-go xds", func(service string) map[string]call {
		return calls(dialXDS(t, service+":80"))
	})
}

// newDNS is grpc-go by DNS and round robin, without xDS.
func newDNS(t testing.TB, names *nameServer) *local {
	return newLocal(t, "grpc-go dns", func(service string) map[string]call {
		return calls(dial(t, "dns://"+names.address+"/"+service+clusterDomain+".:8080",
			grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`)))
	})
}

// calls are those of gRPC's test service.
func calls(service grpc_testing.TestServiceClient) map[string]call {
	return map[string]call{
		unary: func(ctx context.Context) (string, error) {
			answer, err := service.UnaryCall(ctx, &grpc_testing.SimpleRequest{})
			return answer.GetServerId(), err
		},
		stream: func(ctx context.Context) (string, error) { return talk(ctx, service) },
	}
}

// talk exchanges some messages on one stream.
func talk(ctx context.Context, service grpc_testing.TestServiceClient) (pod string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := service.FullDuplexCall(ctx)
	if err != nil {
		return "", err
	}
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for range messages {
		// An error of Send is io.EOF; Recv has the status.
		_ = stream.Send(&grpc_testing.StreamingOutputCallRequest{})
		answer, err := stream.Recv()
		if err != nil {
			return "", err
		}
		pod = string(answer.GetPayload().GetBody())
		<-ticker.C
	}
	if err := stream.CloseSend(); err != nil {
		return "", err
	}
	if _, err = stream.Recv(); !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("the stream does not end: %w", err)
	}
	return pod, nil
}

// newReader is HTTP/1.1 through another Sluice, which discovers hosts by xDS.
func newReader(t testing.TB, s *harness.Sluice) *local {
	web := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	return newLocal(t, "sluice xds", func(service string) map[string]call {
		return map[string]call{unary: func(ctx context.Context) (string, error) { return request(ctx, web, service) }}
	})
}

// request sends a GET for a host.
func request(ctx context.Context, web *harness.Client, host string) (pod string, err error) {
	request := web.Request(http.MethodGet, "/", nil).WithContext(ctx)
	request.Host = host
	answer, err := web.Try(request)
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", answer.StatusCode, strings.TrimSpace(answer.Text))
	}
	return answer.Header.Get("X-Pod"), nil
}
