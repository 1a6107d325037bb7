package forward_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluiceproxy/sluice/forward"
)

// echoService is a gRPC service without generated code.
func echoService() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "test.Echo",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: func(
			_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor,
		) (any, error) {
			in := &wrapperspb.StringValue{}
			if err := decode(in); err != nil {
				return nil, err
			}
			if in.GetValue() == "fail" {
				return nil, status.Error(codes.FailedPrecondition, "as requested: 100%")
			}
			_ = grpc.SetTrailer(ctx, metadata.Pairs("x-trailer", "end"))
			return wrapperspb.String("echo " + in.GetValue()), nil
		}}},
		Streams: []grpc.StreamDesc{{
			StreamName: "Bidi", ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error {
				for {
					in := &wrapperspb.StringValue{}
					if err := stream.RecvMsg(in); err != nil {
						if errors.Is(err, io.EOF) {
							return nil
						}
						return err
					}
					if in.GetValue() == "stop" {
						return status.Error(codes.ResourceExhausted, "enough")
					}
					if err := stream.SendMsg(wrapperspb.String("echo " + in.GetValue())); err != nil {
						return err
					}
				}
			},
		}},
	}
}

func TestGRPC(t *testing.T) {
	for _, front := range []string{"h2", "h2c"} {
		for _, upstream := range []string{"h2", "h2c"} {
			t.Run(front+"-"+upstream, func(t *testing.T) {
				server := grpc.NewServer()
				server.RegisterService(echoService(), nil)
				defer server.Stop()
				g := newRig(t, setup{front: front, upstream: upstream, options: forward.Options{PassHostHeader: true}}, server)
				client := grpcClient(t, g)
				ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
				defer cancel()
				checkUnary(ctx, t, client)
				checkBidi(ctx, t, client)
				checkStop(ctx, t, client)
			})
		}
	}
}

// checkStop has a server that ends a stream whose client would go on.
func checkStop(ctx context.Context, t *testing.T, client *grpc.ClientConn) {
	t.Helper()
	stream, err := client.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Echo/Bidi")
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{"a", "stop"} {
		if err := stream.SendMsg(wrapperspb.String(message)); err != nil {
			t.Fatal(err)
		}
	}
	out := &wrapperspb.StringValue{}
	if err := stream.RecvMsg(out); err != nil || out.GetValue() != "echo a" {
		t.Fatalf("got %q, %v", out.GetValue(), err)
	}
	equal(t, "end", status.Code(stream.RecvMsg(out)).String(), "ResourceExhausted")
}

func grpcClient(t *testing.T, g *rig) *grpc.ClientConn {
	t.Helper()
	secured := insecure.NewCredentials()
	if wire, ok := g.client.Transport.(*http.Transport); ok && wire.TLSClientConfig != nil {
		secured = credentials.NewTLS(wire.TLSClientConfig.Clone())
	}
	client, err := grpc.NewClient("passthrough:///"+g.address, grpc.WithTransportCredentials(secured))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func checkUnary(ctx context.Context, t *testing.T, client *grpc.ClientConn) {
	t.Helper()
	var trailer metadata.MD
	out := &wrapperspb.StringValue{}
	if err := client.Invoke(ctx, "/test.Echo/Unary", wrapperspb.String("a"), out, grpc.Trailer(&trailer)); err != nil {
		t.Fatal(err)
	}
	equal(t, "unary", fmt.Sprint(out.GetValue(), trailer["x-trailer"]), "echo a[end]")
	err := client.Invoke(ctx, "/test.Echo/Unary", wrapperspb.String("fail"), out)
	equal(t, "error", fmt.Sprint(status.Code(err), status.Convert(err).Message()),
		"FailedPrecondition"+"as requested: 100%")
	err = client.Invoke(ctx, "/test.Echo/Missing", wrapperspb.String("a"), out)
	equal(t, "missing", status.Code(err).String(), "Unimplemented")
}

func checkBidi(ctx context.Context, t *testing.T, client *grpc.ClientConn) {
	t.Helper()
	stream, err := client.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Echo/Bidi")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := stream.SendMsg(wrapperspb.String(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		out := &wrapperspb.StringValue{}
		if err := stream.RecvMsg(out); err != nil {
			t.Fatal(err)
		}
		equal(t, "bidi", out.GetValue(), fmt.Sprint("echo ", i))
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&wrapperspb.StringValue{}); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
}
