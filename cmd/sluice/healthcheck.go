package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/handover"
	"github.com/sluiceproxy/sluice/static"
)

// healthcheckTimeout is how long a running Sluice may take to say whether it is ready.
const healthcheckTimeout = 5 * time.Second

// healthcheckCommand requests the readiness of a running Sluice. Without --url it uses the address at which the same
// static configuration serves ping.
func (p *process) healthcheckCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "healthcheck [--url URL] [--handover]",
		Short: "request /ready of a running Sluice",
		Long: "Request /ready of a running Sluice and print the result in one line. Without --url, the address is the one\n" +
			"at which the same static configuration serves ping; without any configuration, it is\n" +
			"http://127.0.0.1:8080/ready. With --handover, the process that holds handover.socket must also be one of this\n" +
			"container: where containers share the network of the host, each can request /ready of the other.\n\n" +
			"Exit codes: 0 when it is ready, 1 when it is not, does not answer or has no known address, 2 for wrong\n" +
			"arguments.",
		Example: "  sluice healthcheck --url http://127.0.0.1:8080/ready\n" +
			"  sluice healthcheck --configFile=/etc/sluice/sluice.yaml --handover",
		ValidArgsFunction: completeOptions(nil),
	}
	url := command.Flags().String("url", "", "`URL` to request (default: /ready on the entrypoint of ping)")
	here := command.Flags().Bool("handover", false, "require that a process of this container holds handover.socket")
	p.takes(command, 0, true, func(given arguments) int {
		check := healthcheck{
			url: *url, here: *here, sources: static.Sources{Args: given.options, Environ: p.environ},
		}
		return check.run(p.stdout, p.stderr)
	})
	return command
}

// healthcheck is one call of the command.
type healthcheck struct {
	// url is requested; an empty one is that of the static configuration.
	url string
	// here is whether the process must be one of this container.
	here    bool
	sources static.Sources
	// socket is handover.socket, unless it is not needed.
	socket string
}

// run requests the readiness, prints it in one line, and returns the exit code.
func (h *healthcheck) run(stdout, stderr io.Writer) int {
	own := h.url == ""
	if own || h.here {
		loaded, findings := static.Load(h.sources)
		if err := h.configure(loaded, findings); err != nil {
			say(stderr, "sluice healthcheck: %v\n", err)
			if static.FlagErrors(findings) {
				return exitBroken
			}
			return exitNone // Container engines reserve 2 for their own use.
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthcheckTimeout)
	defer cancel()
	if h.here {
		if err := heldHere(ctx, h.socket); err != nil {
			say(stderr, "not ready: handover.socket: %v\n", err)
			return exitNone
		}
	}
	response, err := get(ctx, h.url, nil, own)
	if err != nil {
		say(stderr, "not ready: %v\n", err)
		return exitNone
	}
	_ = response.Body.Close()
	say(stdout, "ready: %s\n", h.url)
	return exitFine
}

// configure reads what the flags leave open.
func (h *healthcheck) configure(loaded static.Loaded, findings []static.Finding) (err error) {
	if h.here {
		if h.socket, err = handoverSocket(loaded, findings); err != nil {
			return err
		}
	}
	if h.url == "" {
		h.url, err = readyURL(loaded, findings, len(h.sources.Args) == 0)
	}
	return err
}

// errNoSocket is the error of a static configuration without the option.
var errNoSocket = errors.New("handover.socket is not configured")

// handoverSocket returns the option handover.socket of a static configuration without errors.
func handoverSocket(loaded static.Loaded, findings []static.Finding) (string, error) {
	for _, finding := range findings {
		if finding.Severity == static.Error {
			return "", errors.New(finding.String())
		}
	}
	if loaded.Configuration.Handover == nil {
		return "", errNoSocket
	}
	return loaded.Configuration.Handover.Socket, nil
}

// heldHere returns why the process that listens on a socket of hand-overs is none of this container. The kernel reports
// no PID for a process of a PID namespace that is not visible here. In the namespace of the host, which sees those of
// containers, their names are compared.
func heldHere(ctx context.Context, socket string) error {
	pid, err := handover.Holder(ctx, socket)
	if err != nil {
		return err
	}
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	own, failed := os.Readlink("/proc/self/ns/pid")
	// The name cannot be read of a process that has more capabilities than this one.
	if known := err == nil && failed == nil; pid == 0 || known && namespace != own {
		return fmt.Errorf("the process that holds %s is of another container", socket)
	}
	return nil
}

// readyURL finds where the static configuration serves /ready, as seen from this machine; without one, and without
// flags, that is the default address.
func readyURL(loaded static.Loaded, findings []static.Finding, noFlags bool) (string, error) {
	if loaded.Empty() && noFlags {
		return localAPI + "/ready", nil
	}
	return ownURL(loaded, findings, "--url", func(config *static.Configuration) (entryPoint, path string, err error) {
		if config.Ping == nil {
			return "", "", errors.New("ping is not enabled: configure ping, or name the address with --url")
		}
		return config.Ping.EntryPoint, "/ready", nil
	})
}
