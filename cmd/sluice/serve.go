package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
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
)

// serve runs Sluice until SIGTERM or SIGINT, and drains. It returns 0 after a clean end and 1, with one line, when it
// cannot start or an entrypoint fails.
func serve(args, environ []string, stderr io.Writer) int {
	loaded, findings := static.Load(static.Sources{Args: args, Environ: environ})
	if static.HasErrors(findings) {
		printFindings(stderr, findings)
		return 1
	}
	logger, closeLog, err := openLog(loaded.Configuration.Log, stderr)
	if err != nil {
		say(stderr, "sluice: %v\n", err)
		return 1
	}
	defer closeLog()
	log.SetFlags(0)
	log.SetOutput(strays{logger})
	logFindings(logger, findings)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	tuneMemory(logger)
	go useHugePages(ctx)
	s, err := assemble(loaded.Configuration, logger, true)
	if err == nil {
		err = s.run(ctx)
	}
	if err != nil {
		logger.Error("sluice stops", "error", err)
		return 1
	}
	return 0
}

// openLog returns the logger and what closes its file.
func openLog(config static.Log, stderr io.Writer) (telemetry.Logger, func(), error) {
	options := telemetry.LogOptions{Level: config.Level, Format: config.Format, NoColor: config.NoColor, Output: stderr}
	closeFile := func() {}
	if config.FilePath != "" {
		file, err := os.OpenFile(config.FilePath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
		if err != nil {
			return nil, nil, fmt.Errorf("log.filePath: %w", err)
		}
		options.Output, closeFile = file, func() { _ = file.Close() }
	}
	logger, err := telemetry.NewLogger(options)
	return logger, closeFile, err
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
	behind.Go(func() {
		if err := s.pipeline.Run(background); err != nil {
			abort(fmt.Errorf("pipeline: %w", err))
		}
	})
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	behind.Go(func() { s.reloadOnHangup(background, hangups) })
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
		s.logger.Info("stopping: entrypoints drain")
	})
	front.Wait()
	cancel()
	behind.Wait()
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
		requests := s.metrics.Entrypoint(name)
		opened, err := entrypoint.New(name, &config, s.target.Handler(name), s.target.TLS(name), entrypoint.Dependencies{
			Logger: s.logger, Connections: requests, Sinks: []entrypoint.Sink{requests, s.failures},
		})
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

// reloadOnHangup reads the files again on SIGHUP. Without files there is nothing to read, and nothing to end for either.
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
