package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

// serve runs Sluice until SIGTERM or SIGINT, and drains. It returns 0 after a clean end and 1, with one line, when it
// cannot start or an entrypoint fails.
func serve(args, environ []string, stderr io.Writer) int {
	loaded, findings := static.Load(static.Sources{Args: args, Environ: environ})
	if static.HasErrors(findings) {
		printFindings(stderr, findings)
		return 1
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
	stdlog.SetOutput(strays{logs.For(log.SubsystemLibrary)})
	logFindings(logger, findings)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	tuneMemory(logger)
	go useHugePages(ctx)
	s, err := assemble(loaded.Configuration, logs, true)
	if err == nil {
		s.reopen = append(s.reopen, logs.Reopen)
		s.metrics.CountDropped("log", logs.Dropped)
		if loaded.Configuration.Log.OTLP != nil {
			s.metrics.CountDropped("log_otlp", logs.Unsent)
		}
		err = s.observe(ctx)
	}
	if err == nil {
		err = s.run(ctx)
	}
	if err != nil {
		logger.Error("sluice stops", "error", err)
		return 1
	}
	return 0
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

// strays takes what libraries write to the standard logger.
type strays struct{ logger telemetry.Logger }

// Write logs one line. What a server sent without being asked is cut off: it may hold a cookie.
func (s strays) Write(line []byte) (int, error) {
	text, _, _ := strings.Cut(string(line), ` starting with "`)
	s.logger.Debug(strings.TrimSpace(text), "from", "library")
	return len(line), nil
}

// run listens, and runs everything until ctx ends and the entrypoints have drained. The pipeline goes on while they do.
func (s *system) run(ctx context.Context) error {
	entrypoints, err := s.listen(ctx)
	if err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	serving, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	var behind, front sync.WaitGroup
	behind.Go(func() { s.failures.Run(background) })
	behind.Go(func() { s.clusters.Run(background) })
	behind.Go(func() { s.settleMemory(background) })
	behind.Go(func() { s.settleZone(background) })
	behind.Go(func() { s.logEvents(background) })
	behind.Go(func() { s.middlewares.Files().Run(background) })
	behind.Go(func() { s.metrics.Run(background) })
	if access := s.observers.access; access != nil {
		behind.Go(func() { _ = access.Run(background) }) // It has told the log what it could not write.
		s.reopen = append(s.reopen, func() error { access.Reopen(); return nil })
	}
	behind.Go(func() {
		if err := s.pipeline.Run(background); err != nil {
			abort(fmt.Errorf("pipeline: %w", err))
		}
	})
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	behind.Go(func() { s.reloadOnHangup(background, hangups) })
	moved := make(chan os.Signal, 1)
	signal.Notify(moved, syscall.SIGUSR1)
	defer signal.Stop(moved)
	behind.Go(func() { s.reopenFiles(background, moved) })
	for _, entrypoint := range entrypoints {
		front.Go(func() {
			s.hold(serving, entrypoint.Name())
			if err := entrypoint.Serve(serving); err != nil {
				abort(err)
			}
		})
	}
	front.Go(func() {
		<-serving.Done()
		s.ping.Drain()
		s.live.Drain()
		s.logger.Info("stopping: entrypoints drain")
	})
	front.Wait()
	cancel()
	behind.Wait()
	s.stopObserving()
	s.prober.Close()
	s.mirrors.Close()
	s.middlewares.Close()
	s.logger.Info("stopped")
	if cause := context.Cause(serving); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// listen binds all TCP entrypoints, or none when one of them cannot be bound.
func (s *system) listen(ctx context.Context) ([]*entrypoint.Entrypoint, error) {
	var bound []*entrypoint.Entrypoint
	for _, name := range slices.Sorted(maps.Keys(s.config.EntryPoints)) {
		config := *s.config.EntryPoints[name]
		if s.config.Global.NotAppendXForwardedFor {
			config.ForwardedHeaders.NotAppendXForwardedFor = true
		}
		if address, err := config.ListenAddress(); err != nil || address.Network != "tcp" {
			continue
		}
		opened, err := entrypoint.New(name, &config, s.target.Handler(name), s.target.TLS(name), s.dependencies(name, &config))
		if err == nil {
			err = opened.Listen(ctx)
		}
		if err != nil {
			for _, other := range bound {
				_ = other.Close()
			}
			return nil, err
		}
		s.logger.Info("listening", "entrypoint", name, "address", opened.Addr().String())
		bound = append(bound, opened)
	}
	return bound, nil
}

// reopenFiles opens the files of the logs anew on SIGUSR1, after they were rotated.
func (s *system) reopenFiles(ctx context.Context, moved <-chan os.Signal) {
	for {
		select {
		case <-moved:
			for _, reopen := range s.reopen {
				if err := reopen(); err != nil {
					s.logger.Error("SIGUSR1: a log file cannot be opened again", "error", err)
				}
			}
			s.logger.Info("SIGUSR1: log files are opened again")
		case <-ctx.Done():
			return
		}
	}
}

// reloadOnHangup reads the files again on SIGHUP. Without files there is nothing to read, and nothing to end for
// either.
func (s *system) reloadOnHangup(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-hangups:
			if s.files == nil {
				s.logger.Info("SIGHUP: there are no files to read again")
				continue
			}
			s.logger.Info("SIGHUP: files are read again")
			s.files.Reload()
		case <-ctx.Done():
			return
		}
	}
}
