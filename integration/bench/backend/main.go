// Command backend is the endpoint for rows that nginx cannot serve: it reads request bodies before it answers, and
// sends chunked bodies. With -grpc it serves unary calls of gRPC over HTTP/2, and with -streams the protocol of package
// wire, by TCP and UDP.
//
// It serves HTTP/1.1 requests with a Content-Length or without a body; each response is a prepared buffer in a single
// write, so that the proxy is what is measured. It does not validate requests and listens on loopback only.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "backend: %v\n", err)
		os.Exit(1)
	}
}

// run serves until the context is over.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("backend", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("address", "127.0.0.1:0", "where to listen")
	grpc := flags.Bool("grpc", false, "serve unary gRPC calls over HTTP/2 without TLS")
	protocol := flags.Bool("streams", false, "serve the protocol of package wire, by TCP and UDP")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *protocol {
		server, err := wire.Listen(ctx, *address)
		if err != nil {
			return err
		}
		return server.Serve(ctx)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	if *grpc {
		return serveCalls(ctx, listener)
	}
	for {
		connection, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		go serve(connection)
	}
}
