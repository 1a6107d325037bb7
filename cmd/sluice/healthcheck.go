package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/static"
)

// healthcheckTimeout is how long a running Sluice may take to say whether it is ready.
const healthcheckTimeout = 5 * time.Second

// healthcheckCommand requests the readiness of a running Sluice. Without --url it uses the address at which the same
// static configuration serves ping.
func (p *process) healthcheckCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "healthcheck [--url URL]",
		Short: "request /ready of a running Sluice",
		Long: "Request /ready of a running Sluice and print the result in one line. Without --url, the address is the one\n" +
			"at which the same static configuration serves ping; without any configuration, it is\n" +
			"http://127.0.0.1:8080/ready.\n\n" +
			"Exit codes: 0 when it is ready, 1 when it is not, does not answer or has no known address, 2 for wrong\n" +
			"arguments.",
		Example:           "  sluice healthcheck --url http://127.0.0.1:8080/ready",
		ValidArgsFunction: completeOptions(nil),
	}
	url := command.Flags().String("url", "", "`URL` to request (default: /ready on the entrypoint of ping)")
	p.takes(command, 0, true, func(given arguments) int {
		return healthcheck(*url, static.Sources{Args: given.options, Environ: p.environ}, p.stdout, p.stderr)
	})
	return command
}

// healthcheck requests the readiness, prints it in one line, and returns the exit code.
func healthcheck(url string, sources static.Sources, stdout, stderr io.Writer) int {
	own := url == ""
	if own {
		loaded, findings := static.Load(sources)
		var err error
		if url, err = readyURL(loaded, findings, len(sources.Args) == 0); err != nil {
			say(stderr, "sluice healthcheck: %v\n", err)
			if static.FlagErrors(findings) {
				return exitBroken
			}
			return exitNone // Container engines reserve 2 for their own use.
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthcheckTimeout)
	defer cancel()
	response, err := get(ctx, url, nil, own)
	if err != nil {
		say(stderr, "not ready: %v\n", err)
		return exitNone
	}
	_ = response.Body.Close()
	say(stdout, "ready: %s\n", url)
	return exitFine
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
