package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// healthcheckTimeout is how long a running Sluice may take to say whether it is ready.
const healthcheckTimeout = 5 * time.Second

// healthcheck requests the readiness of a running Sluice, prints it in one line, and returns 0 for yes and 1
// for no. Without --url it uses the address at which the same static configuration serves ping.
func healthcheck(args, environ []string, stdout, stderr io.Writer) int {
	flags := newFlags("healthcheck", "[--url URL] [--configFile FILE] [OPTIONS]", stderr)
	url := flags.String("url", "", "`URL` to request (default: /ready on the entrypoint of ping)")
	positional, options, err := parseMixed(flags, args)
	if code, done := flagResult(flags, positional, err); done {
		return code
	}
	own := *url == ""
	if own {
		if *url, err = readyURL(static.Sources{Args: options, Environ: environ}); err != nil {
			say(stderr, "sluice healthcheck: %v\n", err)
			return 1
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthcheckTimeout)
	defer cancel()
	response, err := get(ctx, *url, nil, own)
	if err != nil {
		say(stderr, "not ready: %v\n", err)
		return 1
	}
	_ = response.Body.Close()
	say(stdout, "ready: %s\n", *url)
	return 0
}

// readyURL finds where the static configuration serves /ready, as seen from this machine.
func readyURL(sources static.Sources) (string, error) {
	return ownURL(sources, "--url", func(config *static.Configuration) (entryPoint, path string, err error) {
		if config.Ping == nil {
			return "", "", errors.New("ping is not enabled: configure ping, or name the address with --url")
		}
		return config.Ping.EntryPoint, "/ready", nil
	})
}
