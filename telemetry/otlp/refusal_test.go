package otlp_test

import (
	"context"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// refusal is what a collector that speaks gRPC says in the place of a status of HTTP.
func refusal(code int, text string) error {
	if code == http.StatusUnauthorized {
		return status.Error(codes.Unauthenticated, text)
	}
	return status.Error(codes.InvalidArgument, text)
}

// presented reports whether the caller has shown a certificate.
func presented(ctx context.Context) bool {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return false
	}
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	return ok && len(info.State.PeerCertificates) > 0
}
