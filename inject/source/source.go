// Package source reads the configuration of the injector, and again whenever it changes: from a file or a directory, or
// from a ConfigMap of the cluster.
//
// A configuration is taken as a whole or not at all: one that does not load leaves the last good one in use, and is
// logged, counted and shown with its reason.
package source

import (
	"context"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// gather is how long changes are collected, since those of one edit come one after the other.
	gather = 100 * time.Millisecond
	// maxGather is how long they are collected at most, such as those of other files in a busy directory.
	maxGather = time.Second
	// lookInterval is how often the configuration is compared at least, for file systems that report no changes.
	lookInterval = 10 * time.Second
)

// Origin is where a configuration comes from; *Files and *ConfigMap are.
type Origin[T any] interface {
	// Read returns the configuration if it is another one than the last that was read; changed is false if it is not.
	Read() (configuration T, changed bool, err error)
	// Run has notify called when the configuration may have changed, until ctx ends.
	Run(ctx context.Context, notify func())
}

// Meter counts; *metrics.Injector does.
type Meter interface {
	// Reloaded counts an attempt to read a configuration, and whether it has succeeded.
	Reloaded(ok bool)
}

// Attempt is the last attempt to read the configuration.
type Attempt struct {
	At  time.Time
	Err error
}

// Source has the current configuration. Its methods may be called from any goroutine.
type Source[T any] struct {
	origin Origin[T]
	meter  Meter
	logger telemetry.Logger
	notify chan struct{}

	mu      sync.RWMutex
	current T
	loaded  bool
	last    Attempt
}

// New returns a source without a configuration.
func New[T any](origin Origin[T], meter Meter, logger telemetry.Logger) *Source[T] {
	return &Source[T]{origin: origin, meter: meter, logger: logger, notify: make(chan struct{}, 1)}
}

// Current returns the last good configuration; ok is false when there is none yet.
func (s *Source[T]) Current() (configuration T, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current, s.loaded
}

// Last returns the last attempt to read the configuration.
func (s *Source[T]) Last() Attempt {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.last
}

// Load reads the configuration once, if it has changed.
func (s *Source[T]) Load() error {
	configuration, changed, err := s.origin.Read()
	if err == nil && !changed {
		return nil
	}
	s.mu.Lock()
	repeated := err != nil && s.last.Err != nil && s.last.Err.Error() == err.Error()
	s.last = Attempt{At: time.Now(), Err: err}
	loaded := s.loaded
	if err == nil {
		s.current, s.loaded = configuration, true
	}
	s.mu.Unlock()
	if repeated {
		return err
	}
	s.meter.Reloaded(err == nil)
	switch {
	case err == nil:
		s.logger.Info("the injector has a new configuration")
	case loaded:
		s.logger.Error("the injector's configuration does not load; the last good one stays in use", "error", err)
	default:
		s.logger.Error("the injector's configuration does not load, and there is no earlier one", "error", err)
	}
	return err
}

// Run follows changes until ctx ends.
func (s *Source[T]) Run(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		s.origin.Run(ctx, func() {
			select {
			case s.notify <- struct{}{}:
			default:
			}
		})
	})
	timer := time.NewTimer(0)
	defer timer.Stop()
	var first time.Time // of the changes that are collected; zero without any
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.notify:
			if first.IsZero() {
				first = time.Now()
			}
			// At the limit, the timer ends as it was set.
			if left := maxGather - time.Since(first); left > 0 {
				timer.Reset(min(gather, left))
			}
		case <-timer.C:
			first = time.Time{}
			_ = s.Load() // It is logged.
			timer.Reset(lookInterval)
		}
	}
}
