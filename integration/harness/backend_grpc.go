package harness

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Metadata that the gRPC service of a Backend sends back: EchoHeader in the head, EchoTrailer in the trailers.
const (
	EchoHeader  = "x-echo-header"
	EchoTrailer = "x-echo-trailer"
)

func newGRPC() *grpc.Server {
	server := grpc.NewServer()
	grpc_testing.RegisterTestServiceServer(server, service{})
	return server
}

// service implements the used part of gRPC's test service.
type service struct {
	grpc_testing.UnimplementedTestServiceServer
}

// UnaryCall sends the payload back, or the requested status.
func (service) UnaryCall(ctx context.Context, r *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	if err := grpc.SetHeader(ctx, received(ctx, EchoHeader)); err != nil {
		return nil, err
	}
	if err := grpc.SetTrailer(ctx, received(ctx, EchoTrailer)); err != nil {
		return nil, err
	}
	if err := wanted(r.GetResponseStatus()); err != nil {
		return nil, err
	}
	return &grpc_testing.SimpleResponse{Payload: r.GetPayload()}, nil
}

// StreamingOutputCall sends one message of each requested size, and then the status.
func (service) StreamingOutputCall(r *grpc_testing.StreamingOutputCallRequest,
	stream grpc.ServerStreamingServer[grpc_testing.StreamingOutputCallResponse],
) error {
	stream.SetTrailer(received(stream.Context(), EchoTrailer))
	for _, parameters := range r.GetResponseParameters() {
		message := &grpc_testing.StreamingOutputCallResponse{
			Payload: &grpc_testing.Payload{Body: make([]byte, parameters.GetSize())},
		}
		if err := stream.Send(message); err != nil {
			return err
		}
	}
	return wanted(r.GetResponseStatus())
}

// StreamingInputCall answers with the sum of the message sizes.
func (service) StreamingInputCall(stream grpc.ClientStreamingServer[grpc_testing.StreamingInputCallRequest, grpc_testing.StreamingInputCallResponse]) error {
	sum := 0
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&grpc_testing.StreamingInputCallResponse{AggregatedPayloadSize: int32(sum)})
		}
		if err != nil {
			return err
		}
		sum += len(r.GetPayload().GetBody())
	}
}

// FullDuplexCall sends each message back. A message with a status ends the call with it.
func (service) FullDuplexCall(stream grpc.BidiStreamingServer[grpc_testing.StreamingOutputCallRequest, grpc_testing.StreamingOutputCallResponse]) error {
	if err := stream.SendHeader(received(stream.Context(), EchoHeader)); err != nil {
		return err
	}
	stream.SetTrailer(received(stream.Context(), EchoTrailer))
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := wanted(r.GetResponseStatus()); err != nil {
			return err
		}
		if err := stream.Send(&grpc_testing.StreamingOutputCallResponse{Payload: r.GetPayload()}); err != nil {
			return err
		}
	}
}

// received returns one key of the request's metadata.
func received(ctx context.Context, key string) metadata.MD {
	found := metadata.MD{}
	if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
		found.Set(key, values...)
	}
	return found
}

func wanted(s *grpc_testing.EchoStatus) error {
	if s == nil {
		return nil
	}
	return status.Error(codes.Code(s.GetCode()), s.GetMessage())
}
