package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/servicemanager"
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
	return s.run(ctx, logs.Reopen, logs.SetLevel)
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

// listenBeside listens for what is served beside the entrypoints: xDS clients, the inspector of KT-env and reviews.
func (s *system) listenBeside(ctx context.Context, setLevel func(string) error) (
	published, inspected func(context.Context), injected func(context.Context) error, err error,
) {
	if published, err = s.publish(ctx); err != nil {
		return nil, nil, nil, err
	}
	if inspected, err = s.listenInspector(ctx, setLevel); err != nil {
		return nil, nil, nil, err
	}
	injected, err = s.inject(ctx)
	return published, inspected, injected, err
}

// run listens, and runs everything until ctx ends and the entrypoints have drained. The pipeline goes on while they do.
// reopen opens the log file anew, and setLevel sets its level.
func (s *system) run(ctx context.Context, reopen func() error, setLevel func(string) error) error {
	entrypoints, err := s.listen(ctx)
	if err != nil {
		return err
	}
	published, inspected, injected, err := s.listenBeside(ctx, setLevel)
	if err != nil {
		return err
	}
	manager := servicemanager.New(s.logger)
	hangups := notify(syscall.SIGHUP)
	defer signal.Stop(hangups)
	rotations := notify(syscall.SIGUSR1)
	defer signal.Stop(rotations)
	// From here on connections are accepted, or wait in the sockets' queues, and a reload does not end the process.
	manager.Ready()
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	serving, abort := context.WithCancelCause(s.awaitQuiet(ctx))
	defer abort(nil)
	var behind, front sync.WaitGroup
	for _, task := range []func(context.Context){
		s.observability.failures.Run, s.observability.metrics.Run, s.observability.unmatched.Run, s.sources.clusters.Run,
		s.balancing.run,
		s.middlewares.Files().Run, s.settleMemory, s.setZone, s.logServing,
	} {
		behind.Go(func() { task(background) })
	}
	behind.Go(func() { s.runCertificates(background) })
	behind.Go(func() { s.identity.run(background) })
	behind.Go(func() { published(background) })
	behind.Go(func() { inspected(background) })
	access := s.observability.access
	if access != nil {
		behind.Go(func() { _ = access.Run(background) }) // It has logged what it could not write.
	}
	behind.Go(func() {
		if err := s.pipeline.Run(background); err != nil {
			abort(fmt.Errorf("pipeline: %w", err))
		}
	})
	behind.Go(func() { manager.Watch(background, s.pipeline.Responds) })
	behind.Go(func() { each(background, hangups, func() { s.reload(background, manager) }) })
	behind.Go(func() {
		each(background, rotations, func() {
			if err := reopen(); err != nil {
				s.logger.Error("SIGUSR1: a log file cannot be opened again", "error", err)
			}
			if access != nil {
				access.Reopen()
			}
			s.logger.Info("SIGUSR1: log files are opened again")
		})
	})
	for _, entrypoint := range entrypoints {
		front.Go(func() {
			s.awaitReady(serving, entrypoint.Name())
			if err := entrypoint.Serve(serving); err != nil {
				abort(err)
			}
		})
	}
	front.Go(func() { s.listeners.Run(serving) })
	front.Go(func() {
		if err := injected(serving); err != nil {
			abort(err)
		}
	})
	front.Go(func() {
		<-serving.Done()
		manager.Stopping()
		s.management.drain()
		s.logger.Info("stopping: entrypoints drain")
	})
	front.Wait()
	cancel()
	behind.Wait()
	s.observability.close()
	s.balancing.close()
	s.middlewares.Close()
	s.logger.Info("stopped")
	if cause := context.Cause(serving); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// reloadLimit is how long the service manager is told that files are read, at most: templates may take longer.
const reloadLimit = 5 * time.Second

// reload reads the files again, and notifies the service manager when it begins and when the files have been read.
func (s *system) reload(ctx context.Context, manager *servicemanager.Notifier) {
	manager.Reloading()
	timer := time.NewTimer(reloadLimit)
	defer timer.Stop()
	select {
	case <-s.sources.reload(s.logger):
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	manager.Ready()
}

// notify returns a channel that receives a signal; signal.Stop ends that.
func notify(sig os.Signal) chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, sig)
	return signals
}

// each calls do for every signal until ctx ends.
func each(ctx context.Context, signals <-chan os.Signal, do func()) {
	for {
		select {
		case <-signals:
			do()
		case <-ctx.Done():
			return
		}
	}
}
