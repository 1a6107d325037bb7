package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/httpio/graceful"
)

// whoamiGrace is how long requests in progress may take to finish after the signal to stop.
const whoamiGrace = 5 * time.Second

// whoamiCommand runs an endpoint that answers with a description of each request until SIGINT or SIGTERM.
func (p *process) whoamiCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "whoami [--address ADDRESS] [--name NAME]",
		Short: "serve an endpoint that answers with the request as received",
		Long: "Serve an endpoint that answers with the request as received, for tests and examples, until SIGINT or\n" +
			"SIGTERM.\n\n" +
			"Exit codes: 0 after a clean stop, 1 when it cannot listen, 2 for wrong arguments.",
		Example: "  sluice whoami --address=127.0.0.1:9001 --name=one",
	}
	address := command.Flags().String("address", ":80", "`ADDRESS` to listen on, as [host]:port; port 0 takes a free one")
	name := command.Flags().String("name", "", "`NAME` that the answers begin with")
	p.takes(command, 0, false, func(arguments) int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := runWhoami(ctx, *address, *name, p.stdout); err != nil {
			_, _ = fmt.Fprintf(p.stderr, "sluice whoami: %v\n", err)
			return exitNone
		}
		return exitFine
	})
	return command
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

	err = graceful.Serve(ctx, server, listener, whoamiGrace, func() error { return server.Serve(listener) })
	if errors.Is(err, graceful.ErrCutOff) {
		return nil
	}
	return err
}
