// Command compare measures Sluice beside nginx, haproxy and Caddy, all doing the same job on one core.
//
// In flow the table of rows, the configurations in peers, and the programs that it starts: a proxy on core 0; endpoints
// and load on core 1. Out flows a page for docs/performance: CPU time of the proxy's process for each request as the
// scheduler counts it, requests per second, latency, memory, the ratios to the first proxy of a row, and everything
// that was configured and printed.
//
// It never sends anything further than to loopback, never measures a row whose answers are not what they should be, and
// ends by itself: what it started it ends by its number, and its folder is removed, also when it is interrupted.
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
	// A process that is started dies with the thread that started it, so this one must stay.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "compare: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// run is main with its surroundings as arguments.
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
