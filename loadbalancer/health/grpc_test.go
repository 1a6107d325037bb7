package health

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	realhealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/dynamic"
)

func inGRPC(change func(*dynamic.ServerHealthCheck)) func(*dynamic.ServerHealthCheck) {
	return func(c *dynamic.ServerHealthCheck) {
		c.Mode = "grpc"
		if change != nil {
			change(c)
		}
	}
}

// serveGRPC starts grpc's own server, with its health service if there is one.
func serveGRPC(t *testing.T, service grpc_health_v1.HealthServer, options ...grpc.ServerOption) netip.AddrPort {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(options...)
	if service != nil {
		grpc_health_v1.RegisterHealthServer(s, service)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop()
		// A check may be over before Serve has begun.
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return netip.MustParseAddrPort(listener.Addr().String())
}

func TestGRPCServerIsChecked(t *testing.T) {
	service := realhealth.NewServer()
	address := serveGRPC(t, service)
	for _, scheme := range []string{"http", "h2c"} {
		target := Target{Scheme: scheme, Address: address, Connect: &connector{}}
		for status, want := range map[grpc_health_v1.HealthCheckResponse_ServingStatus]bool{
			grpc_health_v1.HealthCheckResponse_SERVING:     true,
			grpc_health_v1.HealthCheckResponse_NOT_SERVING: false,
			grpc_health_v1.HealthCheckResponse_UNKNOWN:     false,
		} {
			service.SetServingStatus("", status)
			wants(t, first(t, target, inGRPC(nil)), want, "gRPC health: "+status.String())
		}
		// What belongs to mode http means nothing.
		service.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
		got := first(t, target, inGRPC(func(c *dynamic.ServerHealthCheck) {
			c.Path, c.Method, c.Status = "/other", "PUT", 404
		}))
		wants(t, got, true, "gRPC health: SERVING")
	}
}

func TestGRPCFailures(t *testing.T) {
	without := Target{Scheme: "h2c", Address: serveGRPC(t, nil), Connect: &connector{}}
	wants(t, first(t, without, inGRPC(nil)), false, "gRPC health: the server does not have the health protocol")

	service := realhealth.NewServer()
	plain := Target{Scheme: "h2c", Address: serveGRPC(t, service), Connect: &connector{}}
	got := first(t, plain, inGRPC(func(c *dynamic.ServerHealthCheck) { c.Scheme = "https" }))
	if got.Up {
		t.Errorf("TLS to a server without: %v", got)
	}

	hung := Target{Scheme: "h2c", Address: serveGRPC(t, &hungHealth{}), Connect: &connector{}}
	// The server has the deadline, and may be the first to give up.
	if got = first(t, hung, inGRPC(quickly)); got.Up ||
		got.Reason != "gRPC health: no answer within 50ms" && got.Reason != "gRPC health: gRPC status DEADLINE_EXCEEDED" &&
			!strings.HasSuffix(got.Reason, "CANCEL; received from peer") {
		t.Errorf("no answer: %v", got)
	}
}

// hungHealth never answers.
type hungHealth struct {
	grpc_health_v1.UnimplementedHealthServer
}

// Check waits for the end of the call.
func (*hungHealth) Check(ctx context.Context,
	_ *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestGRPCMetadata(t *testing.T) {
	asked := make(chan metadata.MD, 1)
	address := serveGRPC(t, realhealth.NewServer(), grpc.UnaryInterceptor(
		func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			if _, limited := ctx.Deadline(); !limited {
				t.Error("the server does not get the deadline")
			}
			if request.(*grpc_health_v1.HealthCheckRequest).GetService() != "" {
				t.Error("requested a service")
			}
			asked <- md
			return handler(ctx, request)
		}))
	target := Target{Scheme: "http", Address: address, Host: "grpc.test:50051", Connect: &connector{}}
	got := first(t, target, inGRPC(headers("X-Token", "a")))
	wants(t, got, true, "gRPC health: SERVING")
	md := <-asked
	if v := md.Get("x-token"); len(v) != 1 || v[0] != "a" {
		t.Errorf("x-token: %q", v)
	}
	if v := md.Get(":authority"); len(v) != 1 || v[0] != "grpc.test:50051" {
		t.Errorf("authority: %q", v)
	}
}

func TestGRPCOverTLS(t *testing.T) {
	certified := serve(t, "https", func(http.ResponseWriter, *http.Request) {})
	settings := &tls.Config{Certificates: certified.TLS.Certificates}
	address := serveGRPC(t, realhealth.NewServer(), grpc.Creds(credentials.NewTLS(settings)))
	target := certified.target("https", "example.com")
	target.Address = address
	wants(t, first(t, target, inGRPC(nil)), true, "gRPC health: SERVING")
	target.Scheme = "http"
	wants(t, first(t, target, inGRPC(func(c *dynamic.ServerHealthCheck) {
		c.Scheme = "https"
	})), true, "gRPC health: SERVING")
	target.Scheme, target.Host = "https", "other.test"
	if got := first(t, target, inGRPC(nil)); got.Up {
		t.Errorf("a certificate for another name: %v", got)
	}
}

// frame returns a message as gRPC frames it.
func frame(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// TestGRPCAnswersAreDistrusted has a server answer what no gRPC library would.
func TestGRPCAnswersAreDistrusted(t *testing.T) {
	serving := frame([]byte{8, 1})
	compressed := bytes.Clone(serving)
	compressed[0] = 1
	tests := []struct {
		name   string
		status int
		header map[string]string
		body   []byte
		code   string
		up     bool
		reason string
	}{
		{"well", 200, nil, serving, "0", true, "SERVING"},
		{
			"well, spelled otherwise", 200,
			map[string]string{"Content-Type": "application/grpc+proto"},
			serving, "0", true,
			"SERVING",
		},
		{"error without a message", 200, nil, nil, "14", false, "gRPC status UNAVAILABLE"},
		{
			"error in the head", 200,
			map[string]string{"Grpc-Status": "12"},
			nil, "", false,
			"the server does not have the health protocol",
		},
		{"a message and an error", 200, nil, serving, "13", false, "gRPC status INTERNAL"},
		{"unheard of", 200, nil, nil, "99", false, "gRPC status 99"},
		{"no status", 200, nil, serving, "", false, "the answer ends without a status"},
		{"no number", 200, nil, serving, "OK", false, "the answer is not gRPC"},
		{"no message", 200, nil, nil, "0", false, "the answer is no health message"},
		{"half a prefix", 200, nil, serving[:3], "0", false, "the answer is no health message"},
		{"half a message", 200, nil, serving[:6], "0", false, "the answer is no health message"},
		{"two messages", 200, nil, append(bytes.Clone(serving), serving...), "0", false, "the answer is no health message"},
		{"a length that lies", 200, nil, append([]byte{0, 0, 0, 0, 9}, 8, 1), "0", false, "the answer is no health message"},
		{"compressed", 200, nil, compressed, "0", false, "the answer is no health message"},
		{"empty message", 200, nil, frame(nil), "0", false, "UNKNOWN"},
		{"service unknown", 200, nil, frame([]byte{8, 3}), "0", false, "SERVICE_UNKNOWN"},
		{"a status of the future", 200, nil, frame([]byte{8, 77}), "0", false, "serving status 77"},
		{"endless", 200, nil, make([]byte, 1<<20), "0", false, "the answer ends without a status"},
		{"HTTP error", 503, nil, serving, "0", false, "status 503"},
		{
			"a web page", 200,
			map[string]string{"Content-Type": "text/html"},
			[]byte("<html>"), "", false,
			"the answer is not gRPC",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, "http", func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != 2 || r.URL.Path != checkMethod || r.Header.Get("Te") != "trailers" {
					t.Errorf("%s %s", r.Proto, r.URL)
				}
				w.Header().Set("Content-Type", "application/grpc")
				for name, value := range test.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write(test.body)
				if test.code != "" {
					w.Header().Set(http.TrailerPrefix+"Grpc-Status", test.code)
				}
			})
			wants(t, first(t, s.target("http", ""), inGRPC(nil)), test.up, "gRPC health: "+test.reason)
		})
	}
}

func TestGRPCNeedsHTTP2(t *testing.T) {
	s := serve(t, "https", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
	})
	target := s.target("https", "example.com")
	target.Connect = http1Only{target.Connect}
	wants(t, first(t, target, inGRPC(nil)), false, "gRPC health: the endpoint speaks HTTP/1.1, and gRPC needs HTTP/2")
}

// http1Only is a transport with HTTP/2 switched off.
type http1Only struct{ Connector }

// RoundTripper returns a client that speaks HTTP/1.1.
func (h http1Only) RoundTripper(scheme string, address netip.AddrPort, host string) Client {
	client := h.Connector.RoundTripper(scheme, address, host)
	client.(*http.Transport).Protocols.SetHTTP2(false)
	return client
}

// FuzzParseHealth demands what protobuf's own reader says.
func FuzzParseHealth(f *testing.F) {
	f.Add([]byte{8, 1})
	f.Add([]byte{8, 1, 8, 2})
	f.Add([]byte{8, 0x80, 0})
	f.Add([]byte{18, 3, 'a', 'b', 'c', 8, 1})
	f.Add([]byte{21, 1, 2, 3, 4, 25, 1, 2, 3, 4, 5, 6, 7, 8, 8, 2})
	f.Add([]byte{8})
	f.Add([]byte{18, 200, 1})
	f.Add([]byte("\b\x01\xa8\xa8\xa8\xa8\x8300")) // A field beyond the highest number.
	f.Add(protowire.AppendVarint([]byte{8}, 1<<63))
	f.Fuzz(func(t *testing.T, message []byte) {
		got, err := parseHealth(message)
		var want grpc_health_v1.HealthCheckResponse
		wantErr := proto.Unmarshal(message, &want)
		if err == nil && wantErr == nil && int32(got) != int32(want.GetStatus()) {
			t.Errorf("%x: %d, want %d", message, got, want.GetStatus())
		}
		if err == nil && got == serving && wantErr != nil {
			t.Errorf("%x: well, and protobuf says %v", message, wantErr)
		}
		if err != nil && wantErr == nil && want.GetStatus() == serving && !bytes.ContainsFunc(message, func(r rune) bool {
			return r&7 == 3
		}) {
			t.Errorf("%x: %v, and protobuf reads it", message, err)
		}
	})
}
