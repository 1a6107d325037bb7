package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/static"
)

// bundleTimeout is how long a running Sluice may take to make and send its archive.
const bundleTimeout = 2 * time.Minute

// bundleCommand fetches the support archive of a running Sluice and writes it into a file that only its owner may
// read. Without --api it uses the address at which the same static configuration serves the API.
func (p *process) bundleCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "bundle [--api URL] [--out FILE] [-H 'Name: value']",
		Short: "write one archive of all that support needs, without secrets",
		Long: "Fetch one archive from the API of a running Sluice, with its configuration, verdicts, changes, metrics and\n" +
			"goroutines, and without the known secrets. Without --api, the API is where the static configuration serves\n" +
			"it; without any configuration, it is that of the Sluice that runs on this machine. Only its owner may read\n" +
			"the file.\n\n" +
			"Exit codes: 0, 1 when it could not be fetched or written, 2 for wrong arguments or without a configuration.",
		Example:           "  sluice bundle --api http://127.0.0.1:8080 --out bundle.tar.gz",
		ValidArgsFunction: completeOptions(nil),
	}
	headers := headerFlag{}
	command.Flags().VarP(headers, "header", "H",
		"a `header` of the request, like 'Authorization: Basic ...'; may repeat")
	api := command.Flags().String(apiFlag, "",
		"the `URL` of the API of the running Sluice (default: the entrypoint traefik, with api.insecure)")
	out := command.Flags().String("out", "",
		"the `FILE` to write, which must not exist yet; - for standard output (default: sluice-bundle-TIME.tar.gz)")
	p.takes(command, 0, true, func(given arguments) int {
		sources := static.Sources{Args: given.options, Environ: p.environ}
		return supportBundle(*api, *out, http.Header(headers), sources, p.stdout, p.stderr)
	})
	return command
}

// supportBundle writes the archive, and returns the exit code. Empty, api and out are found.
func supportBundle(
	api, out string, headers http.Header, sources static.Sources, stdout, stderr io.Writer,
) int {
	own := api == ""
	from, err := findSource(api, sources)
	if api = from.api; err == nil && api == "" {
		api, err = apiURL(from)
	}
	if err != nil {
		say(stderr, "sluice bundle: %v\n", err)
		return exitBroken
	}
	if out == "" {
		out = "sluice-bundle-" + time.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
	}
	ctx, cancel := context.WithTimeout(context.Background(), bundleTimeout)
	defer cancel()
	size, err := fetchBundle(ctx, api, headers, own, out, stdout)
	if err != nil {
		say(stderr, "sluice bundle: %v\n", err)
		return exitNone
	}
	if out != "-" {
		say(stdout, "%s: %d bytes; it holds none of the known secrets, but names, addresses and paths: "+
			"look before you hand it on\n", out, size)
	}
	return exitFine
}

// apiURL finds where the static configuration serves the API, as seen from this machine.
func apiURL(from source) (string, error) {
	const flag = "--" + apiFlag
	where := func(config *static.Configuration) (entryPoint, path string, err error) {
		switch {
		case config.API == nil:
			return "", "", errors.New("the API is not enabled: configure api, or name its address with --api")
		case !config.API.Insecure:
			return "", "", errors.New("the API is served where a router leads to it: name its address with --api")
		}
		return static.InternalEntryPoint, strings.TrimRight(config.API.BasePath, "/"), nil
	}
	return ownURL(from.loaded, from.findings, flag, where)
}

// fetchBundle writes the archive of the Sluice whose API is at base, with or without /api, and returns its size. What
// could not be fetched whole leaves no file behind.
func fetchBundle(
	ctx context.Context, base string, header http.Header, own bool, out string, stdout io.Writer,
) (int64, error) {
	response, err := get(ctx, apiPath(base, "support-dump"), header, own)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	body := bufio.NewReader(response.Body)
	if magic, err := body.Peek(2); err != nil || string(magic) != "\x1f\x8b" {
		return 0, errors.New("the answer is no archive: is this the API of a Sluice?")
	}
	if out == "-" {
		return io.Copy(stdout, body)
	}
	file, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return 0, fmt.Errorf("%s exists already: name another file with --out", out)
	}
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(file, body)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(out)
		return 0, fmt.Errorf("archive not written: %w", err)
	}
	return size, nil
}
