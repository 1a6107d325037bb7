package propagategrpc_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/sluiceproxy/sluice/sdk/propagate"
	"github.com/sluiceproxy/sluice/sdk/propagate/propagategrpc"
)

// service answers with what it gets, in the metadata of the response: the metadata of the call, and the tag of its
// context.
type service struct {
	healthpb.UnimplementedHealthServer
	next healthpb.HealthClient // called with the context of the call, if there is one
}

// Check is a unary call.
func (s *service) Check(
	ctx context.Context, request *healthpb.HealthCheckRequest,
) (*healthpb.HealthCheckResponse, error) {
	if s.next != nil {
		var header metadata.MD
		response, err := s.next.Check(ctx, request, grpc.Header(&header))
		_ = grpc.SetHeader(ctx, answered(header))
		return response, err
	}
	return &healthpb.HealthCheckResponse{}, grpc.SetHeader(ctx, seen(ctx))
}

// Watch is a stream.
func (s *service) Watch(request *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	if s.next != nil {
		inner, err := s.next.Watch(stream.Context(), request)
		if err != nil {
			return err
		}
		header, err := inner.Header()
		if err != nil {
			return err
		}
		return stream.SetHeader(answered(header))
	}
	return stream.SetHeader(seen(stream.Context()))
}

// seen returns what a call has brought.
func seen(ctx context.Context) metadata.MD {
	got := metadata.MD{"seen-tag": {propagate.Tag(ctx)}}
	for name, key := range map[string]string{
		"seen-header": "x-virtual-env", "seen-baggage": "baggage", "seen-other": "other",
	} {
		got[name] = metadata.ValueFromIncomingContext(ctx, key)
	}
	return got
}

// answered returns what another service has seen.
func answered(header metadata.MD) metadata.MD {
	got := metadata.MD{}
	for name, values := range header {
		if strings.HasPrefix(name, "seen-") {
			got[name] = values
		}
	}
	return got
}

// serve starts a server on a network, TCP or of Unix sockets, with interceptors and returns its address.
func serve(t *testing.T, network, address string, p propagate.Propagator, one *service) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(propagategrpc.UnaryServerInterceptor(p)),
		grpc.StreamInterceptor(propagategrpc.StreamServerInterceptor(p)))
	healthpb.RegisterHealthServer(server, one)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-ended
	})
	return listener.Addr().String()
}

// dial returns a client with interceptors.
func dial(t *testing.T, target string, p propagate.Propagator, options ...grpc.DialOption) healthpb.HealthClient {
	t.Helper()
	connection, err := grpc.NewClient(target, append(options,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(propagategrpc.UnaryClientInterceptor(p)),
		grpc.WithStreamInterceptor(propagategrpc.StreamClientInterceptor(p)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return healthpb.NewHealthClient(connection)
}

// calls makes a unary call and a stream, and demands that the server has seen this of both.
func calls(ctx context.Context, t *testing.T, client healthpb.HealthClient, want map[string]string) {
	t.Helper()
	for kind, call := range map[string]func() (metadata.MD, error){
		"unary": func() (header metadata.MD, err error) {
			_, err = client.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Header(&header))
			return header, err
		},
		"stream": func() (metadata.MD, error) {
			stream, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
			if err != nil {
				return nil, err
			}
			return stream.Header()
		},
	} {
		header, err := call()
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for _, name := range []string{"tag", "header", "baggage", "other"} {
			if got := strings.Join(header.Get("seen-"+name), "|"); got != want[name] {
				t.Errorf("%s: the server has seen the %s %q, want %q", kind, name, got, want[name])
			}
		}
	}
}

func TestClientSendsTheTag(t *testing.T) {
	all, baggage := propagate.Propagator{}, propagate.Propagator{SetBaggage: true}
	address := serve(t, "tcp", "127.0.0.1:0", all, &service{})
	dev := propagate.WithTag(context.Background(), "dev")
	for _, test := range []struct {
		name string
		p    propagate.Propagator
		ctx  context.Context
		want map[string]string
	}{
		{"no tag", all, context.Background(), nil},
		{"tag", all, dev, map[string]string{"tag": "dev", "header": "dev"}},
		{
			"default",
			propagate.Propagator{DefaultTag: "pod"},
			context.Background(),
			map[string]string{"tag": "pod", "header": "pod"},
		},
		{
			"other metadata stays", all, metadata.AppendToOutgoingContext(dev, "other", "1", "other", "2"),
			map[string]string{"tag": "dev", "header": "dev", "other": "1|2"},
		},
		{
			"a tag in the metadata stays", all, metadata.AppendToOutgoingContext(dev, "X-Virtual-Env", "own"),
			map[string]string{"tag": "own", "header": "own"},
		},
		{
			"baggage", baggage, metadata.AppendToOutgoingContext(dev, "baggage", "a=1"),
			map[string]string{"tag": "dev", "header": "dev", "baggage": "a=1,virtual-env=dev"},
		},
		{"what gRPC can't carry", all, propagate.WithTag(context.Background(), "d\u00e9v"), nil},
		{"a host that is not allowed", propagate.Propagator{AllowHost: func(string) bool { return false }}, dev, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls(test.ctx, t, dial(t, address, test.p), test.want)
		})
	}
}

func TestServerHandsTheTagOn(t *testing.T) {
	p := propagate.Propagator{}
	last := serve(t, "tcp", "127.0.0.1:0", p, &service{})
	first := serve(t, "tcp", "127.0.0.1:0", p, &service{next: dial(t, last, p)})
	connection, err := grpc.NewClient(first, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	client := healthpb.NewHealthClient(connection)
	for _, test := range []struct {
		name string
		sent metadata.MD
		want string
	}{
		{"none", nil, ""},
		{"header", metadata.Pairs("x-virtual-env", "dev"), "dev"},
		{"the first counts", metadata.Pairs("x-virtual-env", "one", "x-virtual-env", "two"), "one"},
		{"baggage", metadata.Pairs("baggage", "a=1", "baggage", "virtual-env=%64ev;p"), "dev"},
		{"baggage without a label value", metadata.Pairs("baggage", "virtual-env=-"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := metadata.NewOutgoingContext(context.Background(), test.sent)
			calls(ctx, t, client, map[string]string{"tag": test.want, "header": test.want})
		})
	}
}

func TestTheTargetIsWhatMustBeAllowed(t *testing.T) {
	address := serve(t, "tcp", "127.0.0.1:0", propagate.Propagator{}, &service{})
	socket := filepath.Join(t.TempDir(), "socket")
	serve(t, "unix", socket, propagate.Propagator{}, &service{})
	dev := propagate.WithTag(context.Background(), "dev")
	sent := map[string]string{"tag": "dev", "header": "dev"}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		target, asked string // asked is the host that AllowHost gets
		want          map[string]string
	}{
		{address, "127.0.0.1", sent},
		{"localhost:" + port, "localhost", sent},
		{"passthrough:///" + address, "127.0.0.1", sent},
		{"unix://" + socket, "localhost", sent},
		{"static:///web.shop.svc:80", "web.shop.svc", sent},
		{"static:///web.shop.svc", "web.shop.svc", sent},
		{"static:///[fd00::1]:80", "fd00::1", sent},
		{"static:///[fd00::1]", "fd00::1", sent},
		{"xds:///web.shop:80", "web.shop", sent},
		{"static:///web.shop:80", "web.shop", nil},
		{"static:///example.com:443", "example.com", nil},
		{"static:///10.0.0.1:80,8.8.8.8:80", "", nil},
	} {
		t.Run(test.target, func(t *testing.T) {
			calls(dev, t, dial(t, test.target, propagate.Propagator{}, resolved(test.target, address)...), test.want)
			var asked string
			p := propagate.Propagator{AllowHost: func(host string) bool {
				asked = host
				return true
			}}
			calls(dev, t, dial(t, test.target, p, resolved(test.target, address)...), sent)
			if asked != test.asked {
				t.Errorf("AllowHost was asked for %q, want %q", asked, test.asked)
			}
		})
	}
}

// resolved returns an option of a connection with which the targets that no resolver knows here lead to the address.
func resolved(target, address string) []grpc.DialOption {
	scheme, _, _ := strings.Cut(target, ":")
	if scheme != "static" && scheme != "xds" {
		return nil
	}
	fixed := manual.NewBuilderWithScheme(scheme)
	fixed.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: address}}})
	return []grpc.DialOption{grpc.WithResolvers(fixed)}
}
