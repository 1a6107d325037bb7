package protocol

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func (c cell) grpc(t *testing.T) (grpc_testing.TestServiceClient, context.Context) {
	t.Helper()
	settings := c.world.settings()
	if !c.Protocol.Secure() {
		settings = nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // A call that hangs shall not hang the test.
	t.Cleanup(cancel)
	ctx = metadata.AppendToOutgoingContext(ctx, harness.EchoHeader, "head", harness.EchoTrailer, "tail")
	if c.accept != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "accept-encoding", c.accept)
	}
	return harness.NewGRPC(t, c.world.sluice.Addr(entrypoint(c.Protocol)), c.host, settings), ctx
}

// proveUnary calls with small and large messages, and with metadata.
func proveUnary(t *testing.T, c cell) {
	client, ctx := c.grpc(t)
	for _, size := range []int{0, 10, 3 << 20} {
		var header, trailer metadata.MD
		payload := bytes.Repeat([]byte{3}, size)
		got, err := client.UnaryCall(ctx, &grpc_testing.SimpleRequest{Payload: &grpc_testing.Payload{Body: payload}},
			grpc.Header(&header), grpc.Trailer(&trailer))
		if err != nil || !bytes.Equal(got.GetPayload().GetBody(), payload) {
			t.Fatalf("%d bytes: %d came back, %v", size, len(got.GetPayload().GetBody()), err)
		}
		if diff := cmp.Diff([]string{"head", "tail"}, append(header.Get(harness.EchoHeader),
			trailer.Get(harness.EchoTrailer)...)); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
	}
}

// proveStreams streams from the server, from the client, and both ways in turn.
func proveStreams(t *testing.T, c cell) {
	client, ctx := c.grpc(t)
	sizes := []*grpc_testing.ResponseParameters{{Size: 1}, {Size: 100000}, {Size: 10}}
	out, err := client.StreamingOutputCall(ctx, &grpc_testing.StreamingOutputCallRequest{ResponseParameters: sizes})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range sizes {
		if got, err := out.Recv(); err != nil || len(got.GetPayload().GetBody()) != int(want.GetSize()) {
			t.Fatalf("got %d bytes, want %d, %v", len(got.GetPayload().GetBody()), want.GetSize(), err)
		}
	}
	if _, err := out.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}

	in, err := client.StreamingInputCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := in.Send(&grpc_testing.StreamingInputCallRequest{Payload: &grpc_testing.Payload{Body: make([]byte,
			1000)}}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := in.CloseAndRecv(); err != nil || got.GetAggregatedPayloadSize() != 10000 {
		t.Errorf("sum %d, %v", got.GetAggregatedPayloadSize(), err)
	}

	both, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		converse(t, both, byte(i))
	}
	if err := both.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := both.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if got := both.Trailer().Get(harness.EchoTrailer); !cmp.Equal(got, []string{"tail"}) {
		t.Errorf("trailer %q", got)
	}
}

// converse sends one message and gets it back.
func converse(t *testing.T, stream grpc_testing.TestService_FullDuplexCallClient, mark byte) {
	t.Helper()
	body := []byte{mark, mark}
	if err := stream.Send(&grpc_testing.StreamingOutputCallRequest{Payload: &grpc_testing.Payload{Body: body}}); err != nil {
		t.Fatal(err)
	}
	if got, err := stream.Recv(); err != nil || !bytes.Equal(got.GetPayload().GetBody(), body) {
		t.Fatalf("%v came back as %v, %v", body, got.GetPayload().GetBody(), err)
	}
}

// proveStatus gets a status with its message and trailers, at once and in the middle of a stream.
func proveStatus(t *testing.T, c cell) {
	client, ctx := c.grpc(t)
	asked := &grpc_testing.EchoStatus{Code: int32(codes.FailedPrecondition), Message: "not now: ü, 100%"}
	expect := func(err error, trailer metadata.MD) {
		t.Helper()
		if got := status.Convert(err); got.Code() != codes.FailedPrecondition || got.Message() != asked.GetMessage() {
			t.Errorf("status %v", got)
		}
		if got := trailer.Get(harness.EchoTrailer); !cmp.Equal(got, []string{"tail"}) {
			t.Errorf("trailer %q", got)
		}
	}
	var trailer metadata.MD
	_, err := client.UnaryCall(ctx, &grpc_testing.SimpleRequest{ResponseStatus: asked}, grpc.Trailer(&trailer))
	expect(err, trailer)

	both, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	converse(t, both, 1)
	if err := both.Send(&grpc_testing.StreamingOutputCallRequest{ResponseStatus: asked}); err != nil {
		t.Fatal(err)
	}
	_, err = both.Recv()
	expect(err, both.Trailer())
}
