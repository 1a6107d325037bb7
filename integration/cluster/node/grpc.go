package node

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/grpc_testing"
)

// isGRPC reports whether a request is a gRPC call.
func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// newGRPC returns the gRPC server of a pod, which serves calls of its HTTP server.
func newGRPC(pod string) *grpc.Server {
	g := grpc.NewServer()
	grpc_testing.RegisterTestServiceServer(g, service{pod: pod})
	return g
}

// service is the used part of gRPC's test service.
type service struct {
	grpc_testing.UnimplementedTestServiceServer

	pod string
}

// UnaryCall answers with the pod's name.
func (s service) UnaryCall(context.Context, *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	return &grpc_testing.SimpleResponse{ServerId: s.pod}, nil
}

// FullDuplexCall answers each message with the pod's name.
func (s service) FullDuplexCall(
	stream grpc.BidiStreamingServer[grpc_testing.StreamingOutputCallRequest, grpc_testing.StreamingOutputCallResponse],
) error {
	answer := &grpc_testing.StreamingOutputCallResponse{Payload: &grpc_testing.Payload{Body: []byte(s.pod)}}
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}
