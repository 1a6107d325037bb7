package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/http2/server"
)

// serveCalls answers unary gRPC calls over HTTP/2 without TLS.
func serveCalls(ctx context.Context, listener net.Listener) error {
	// The prefix of a gRPC message (flag and length) and 123 bytes have the length of the usual response.
	message := "\x00\x00\x00\x00\x7b" + strings.Repeat("x", 0x7b)
	calls := server.Server{MaxStreams: 1000, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		header := w.Header()
		header["Content-Type"] = []string{"application/grpc"}
		header[http.TrailerPrefix+"Grpc-Status"] = []string{"0"}
		_, _ = io.WriteString(w, message)
	})}
	for {
		connection, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return calls.Close()
			}
			return err
		}
		go calls.ServeConn(ctx, connection)
	}
}
