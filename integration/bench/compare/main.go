// Command compare measures Sluice beside nginx, haproxy and Caddy, all with the same job on one core: HTTP, and TCP and
// UDP without Caddy.
//
// For each row of its table it starts a proxy with a configuration of peers on core 0, and endpoints and load on core
// 1. It writes a page for docs/performance: CPU time of the proxy per request from the scheduler, requests per second,
// latency, memory, ratios to the first proxy of a row, all configurations and all output. Everything is on loopback; a
// row with wrong responses is not measured. Processes and files are removed at the end, also when interrupted.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	// A child process dies with the thread that started it, so this one must stay.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "compare: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// run is main with explicit dependencies.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	settings, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if settings.list {
		listRows(stdout, settings.rows)
		return nil
	}
	lab, err := newLab(ctx, settings, stdout)
	if err != nil {
		return err
	}
	defer lab.close()
	begun, before := lab.environment(ctx), lab.now()
	results := lab.measureAll(ctx)
	if len(results.samples) == 0 {
		return fmt.Errorf("nothing was measured: %w", context.Cause(ctx))
	}
	page := report{
		environment: begun, began: before, ended: lab.now(), settings: settings, results: results,
		complete: ctx.Err() == nil,
	}
	if !page.complete && settings.chosen {
		if page.settings.out, err = freeName(true, before); err != nil {
			return err
		}
	}
	if err := page.write(stdout, lab.names()); err != nil {
		return err
	}
	return results.err(ctx)
}
