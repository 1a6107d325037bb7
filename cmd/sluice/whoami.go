package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// whoamiGrace is how long requests in progress may take to finish after the signal to stop.
const whoamiGrace = 5 * time.Second

// whoami runs an endpoint that answers with a description of each request until SIGINT or SIGTERM; its result is the
// exit code.
func whoami(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("sluice whoami", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("address", ":80", "`ADDRESS` to listen on, as [host]:port; port 0 takes a free one")
	name := flags.String("name", "", "`NAME` that the answers begin with")
	if code, done := parseFlags(flags, args); done {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runWhoami(ctx, *address, *name, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "sluice whoami: %v\n", err)
		return 1
	}
	return 0
}

// runWhoami listens on the address, says so on stdout in one line, and serves until ctx ends.
// Requests in progress then have whoamiGrace to finish.
func runWhoami(ctx context.Context, address, name string, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stdout, "whoami: listening on %s\n", listener.Addr())

	server := &http.Server{
		Handler:           newWhoamiHandler(name, ctx.Done()),
		Protocols:         new(http.Protocols),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       3 * time.Minute,
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)

	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), whoamiGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
