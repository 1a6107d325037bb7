package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/servicemanager"
)

// opened is what listens. Each part serves until the context of its call ends.
type opened struct {
	entrypoints []listener
	// published serves xDS clients, inspected the inspector of KT-env, and injected reviews of pods.
	published, inspected func(context.Context)
	injected             func(context.Context) error
	// passed are the sockets of the service manager.
	passed *servicemanager.Sockets
}

// logFile is the log of the process; *log.Log is.
type logFile interface {
	// Reopen opens the file anew.
	Reopen() error
	// SetLevel sets the level of a subsystem, or of all with an empty name, for a time, or without end with 0.
	SetLevel(subsystem, level string, period time.Duration) error
	// Rotate switches the rotation by size and age off and on.
	Rotate(on bool) error
}

// open listens on all addresses, with the sockets of the service manager where it has passed some.
func (s *system) open(
	ctx context.Context, manager *servicemanager.Notifier, setLevel func(string) error,
) (*opened, error) {
	passed := servicemanager.Passed(s.logger)
	forget := passed.Select(s.takesSocket)
	manager.Forget(forget...)
	s.inherited, s.forgotten = passed, len(forget) > 0
	if s.predecessor != nil {
		s.inherited = inheritances{s.predecessor, passed}
		s.auxiliaries.inherited = s.predecessor
	}
	entrypoints, err := s.listen(ctx)
	if err != nil {
		return nil, err
	}
	if s.predecessor == nil {
		s.store(manager, passed, entrypoints)
	}
	o := &opened{entrypoints: entrypoints, passed: passed}
	if o.published, err = s.publish(ctx); err != nil {
		return nil, err
	}
	if o.inspected, err = s.listenInspector(ctx, setLevel); err != nil {
		return nil, err
	}
	if o.injected, err = s.inject(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

// run listens, and runs everything until ctx ends and the entrypoints have drained. The pipeline goes on while they do.
func (s *system) run(ctx context.Context, logs logFile) error {
	manager := servicemanager.New(s.logger)
	succession, err := s.newSuccession(ctx, manager, logs)
	if err != nil {
		return err
	}
	defer succession.close()
	o, err := s.open(ctx, manager, func(level string) error { return logs.SetLevel("", level, 0) })
	if err != nil {
		return err
	}
	hangups := notify(syscall.SIGHUP)
	defer signal.Stop(hangups)
	rotations := notify(syscall.SIGUSR1)
	defer signal.Stop(rotations)
	// From here on connections are accepted, or wait in the sockets' queues, and a reload does not end the process.
	if !succession.inherits() {
		manager.Ready()
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	leading, stepDown := context.WithCancel(background)
	defer stepDown()
	serving, abort := context.WithCancelCause(s.awaitQuiet(ctx, succession.settle))
	defer abort(nil)
	var behind, front sync.WaitGroup
	s.background(background, &behind, abort)
	behind.Go(func() { each(background, rotations, func() { s.rotate(logs.Reopen) }) })
	if err = succession.takeOver(serving, o.entrypoints); err == nil {
		s.foreground(serving, o, &front, abort)
		s.lead(leading, o, &behind)
		err = succession.confirm(serving)
	}
	if err == nil {
		// Not before confirm, which makes this process the one whose states the service manager takes.
		behind.Go(func() { manager.Watch(background, s.pipeline.Responds) })
		s.storeAgain(manager, succession, o)
		front.Go(func() { succession.serve(serving, o.entrypoints, abort) })
		// Not before confirm, since the end of a reload is the state READY=1. The files were read since the start.
		behind.Go(func() { each(background, hangups, func() { s.reload(background, manager) }) })
	} else {
		abort(errors.Join(err, entrypoint.HandedOver{})) // The queues of the sockets are those of the predecessor.
	}
	front.Go(func() {
		<-serving.Done()
		s.stop(context.Cause(serving), manager, stepDown)
	})
	front.Wait()
	cancel()
	behind.Wait()
	s.close()
	if err == nil {
		err = context.Cause(serving)
	}
	handed := errors.Is(err, entrypoint.ErrHandedOver)
	if handed && s.config.Handover.Stay {
		s.logger.Info("handed over: all connections have ended")
		<-ctx.Done()
	}
	s.logger.Info("stopped")
	if handed || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// stop says that the entrypoints drain. After a hand-over the service goes on for clients and the service manager, and
// what one process does for all is stepped down from.
func (s *system) stop(cause error, manager *servicemanager.Notifier, stepDown context.CancelFunc) {
	if errors.Is(cause, entrypoint.ErrHandedOver) {
		stepDown()
		s.management.live.Drain()
		return
	}
	manager.Stopping()
	s.management.drain()
	s.logger.Info("stopping: entrypoints drain")
}

// background starts what goes on while the entrypoints drain, until ctx ends.
func (s *system) background(ctx context.Context, running *sync.WaitGroup, abort context.CancelCauseFunc) {
	for _, task := range []func(context.Context){
		s.observability.failures.Run, s.observability.metrics.Run, s.observability.unmatched.Run, s.sources.clusters.Run,
		s.balancing.run,
		s.middlewares.Files().Run, s.settleMemory, s.setZone, s.logServing,
		s.overload.Run, s.runCertificates, s.identity.run,
	} {
		running.Go(func() { task(ctx) })
	}
	if access := s.observability.access; access != nil {
		running.Go(func() { _ = access.Run(ctx) }) // It has logged what it could not write.
	}
	running.Go(func() {
		if err := s.pipeline.Run(ctx); err != nil {
			abort(fmt.Errorf("pipeline: %w", err))
		}
	})
}

// lead starts what one of several processes does, until ctx ends: elections of leaders, and the listeners beside the
// entrypoints, whose clients need no time to drain.
func (s *system) lead(ctx context.Context, o *opened, running *sync.WaitGroup) {
	tasks := []func(context.Context){s.sources.clusters.Report, o.published, o.inspected}
	if s.certificates != nil {
		tasks = append(tasks, func(ctx context.Context) { s.certificates.Lead(ctx, s.pipeline.FirstReady()) })
	}
	for _, task := range tasks {
		running.Go(func() { task(ctx) })
	}
}

// foreground starts what serves clients, until ctx ends and it has drained.
func (s *system) foreground(
	ctx context.Context, o *opened, running *sync.WaitGroup, abort context.CancelCauseFunc,
) {
	for _, entrypoint := range o.entrypoints {
		running.Go(func() {
			s.awaitReady(ctx, entrypoint.Name())
			if err := entrypoint.Serve(ctx); err != nil {
				abort(err)
			}
		})
	}
	running.Go(func() { s.listeners.Run(ctx) })
	running.Go(func() {
		if err := o.injected(ctx); err != nil {
			abort(err)
		}
	})
}

// close gives up what the system holds, after all of it has ended.
func (s *system) close() {
	s.observability.close()
	s.balancing.close()
	s.middlewares.Close()
}

// rotate opens the log files anew.
func (s *system) rotate(reopen func() error) {
	if err := reopen(); err != nil {
		s.logger.Error("SIGUSR1: a log file cannot be opened again", "error", err)
	}
	if access := s.observability.access; access != nil {
		access.Reopen()
	}
	s.logger.Info("SIGUSR1: log files are opened again")
}

// reloadLimit bounds the time between the states RELOADING=1 and READY=1: templates may take longer.
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
