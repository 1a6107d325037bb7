package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"os/signal"
	"strings"
	"syscall"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

// serve runs Sluice until SIGTERM or SIGINT, and drains. It returns 0 after a clean end, 2 when a flag is wrong, and
// 1, with one line, when it cannot start for another reason or an entrypoint fails.
func serve(args, environ []string, stderr io.Writer) int {
	return runLogged(args, environ, stderr, start)
}

// runLogged loads the static configuration, opens the log, and calls run with a context that SIGTERM and SIGINT end. It
// returns 2 when a flag is wrong, and 1 for another fault, also of run.
func runLogged(
	args, environ []string, stderr io.Writer, run func(context.Context, static.Loaded, *log.Log) error,
) int {
	loaded, findings := static.Load(static.Sources{Args: args, Environ: environ})
	if static.HasErrors(findings) {
		printFindings(stderr, findings)
		if static.FlagErrors(findings) {
			return exitBroken
		}
		return exitNone
	}
	// The reader of a log's pipe may go away: the write then fails and does not end the process. SIGUSR1 has no meaning
	// yet.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGUSR1)
	logs, err := openLog(loaded.Configuration.Log, stderr)
	if err != nil {
		say(stderr, "sluice: %v\n", err)
		return 1
	}
	defer func() { _ = logs.Close() }() // There is nowhere left to say that it failed.
	logger := logs.For(log.SubsystemMain)
	stdlog.SetFlags(0)
	stdlog.SetOutput(libraryLog{logs.For(log.SubsystemLibrary)})
	logStart(logger, loaded, environ)
	logFindings(logger, findings)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	tuneMemory(logger)
	go useHugePages(ctx)
	if err := run(ctx, loaded, logs); err != nil {
		logger.Error("sluice stops", "error", err)
		return 1
	}
	return 0
}

// start assembles a system and runs it until ctx ends.
func start(ctx context.Context, loaded static.Loaded, logs *log.Log) error {
	s, err := newSystem(loaded, &inputs{}, logs, true)
	if err != nil {
		return err
	}
	s.observability.metrics.Register(metrics.Dropped("log", logs.Dropped))
	if loaded.Configuration.Log.OTLP != nil {
		s.observability.metrics.Register(metrics.Dropped("log_otlp", logs.Unsent))
	}
	if err := s.observability.open(ctx); err != nil {
		return err
	}
	if s.observability.tracer != nil {
		s.target.Trace(s.observability.tracer)
	}
	s.newOverload()
	return s.run(ctx, logs)
}

// openLog opens the configured log.
func openLog(config static.Log, stderr io.Writer) (*log.Log, error) {
	logs, err := log.New(config, log.Options{Output: stderr})
	if err != nil || config.OTLP == nil {
		return logs, err
	}
	exporter, err := otlp.Logs(context.Background(), config.OTLP.GRPC, config.OTLP.HTTP)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("log.otlp: %w", err), logs.Close())
	}
	logs.Export(exporter, otlp.Resource(config.OTLP.ServiceName, config.OTLP.ResourceAttributes))
	return logs, nil
}

// libraryLog receives what libraries write to the standard logger.
type libraryLog struct{ logger telemetry.Logger }

// Write logs one line. What a server sent without a request is cut off: it may hold a cookie.
func (l libraryLog) Write(line []byte) (int, error) {
	text, _, _ := strings.Cut(string(line), ` starting with "`)
	l.logger.Debug(strings.TrimSpace(text), "from", "library")
	return len(line), nil
}
