package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// healthcheckTimeout is how long a running Sluice may take to say whether it is ready.
const healthcheckTimeout = 5 * time.Second

// healthcheck asks a running Sluice whether it is ready, prints the answer in one line, and returns 0 for yes and 1
// for no. Without --url it uses the address at which the same static configuration serves ping.
func healthcheck(args, environ []string, stdout, stderr io.Writer) int {
	flags := newFlags("healthcheck", "[--url URL] [--configFile FILE] [OPTIONS]", stderr)
	url := flags.String("url", "", "`URL` to ask (default: /ready on the entrypoint of ping)")
	positional, options, err := parseMixed(flags, args)
	if code, done := flagResult(flags, positional, err); done {
		return code
	}
	own := *url == ""
	if own {
		if *url, err = readyURL(static.Sources{Args: options, Environ: environ}); err != nil {
			_, _ = fmt.Fprintf(stderr, "sluice healthcheck: %v\n", err)
			return 1
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthcheckTimeout)
	defer cancel()
	if err := askReady(ctx, *url, own); err != nil {
		_, _ = fmt.Fprintf(stderr, "not ready: %v\n", err)
		return 1
	}
	_, _ = fmt.Fprintf(stdout, "ready: %s\n", *url)
	return 0
}

// askReady returns nil when the URL is answered with 200. The error quotes the first line of any other answer. The
// Sluice of this machine is believed whatever certificate it shows, which is for its clients.
func askReady(ctx context.Context, url string, own bool) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// No proxy of the environment: the answer must be Sluice's own.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: own}} //nolint:gosec // See above.
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	line, _ := bufio.NewReader(io.LimitReader(response.Body, 4096)).ReadString('\n')
	return fmt.Errorf("GET %s: %s: %.500q", url, response.Status, line)
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
