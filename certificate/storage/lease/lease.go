// Package lease elects a leader by a lock that expires.
//
// Lead takes a Lock, which a store implements on its server or on a file, renews it while the leader works, and ends
// the leader's context before another process may hold the lock.
package lease

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// Duration is how long a lock is held without being renewed, if the process dies.
	Duration = 10 * time.Second
	// renewInterval is the time between two renewals.
	renewInterval = 2 * time.Second
	// retryInterval is the longest time between two attempts to take the lock.
	retryInterval = 2 * time.Second
	// requestTimeout bounds each call of the Lock.
	requestTimeout = 3 * time.Second
)

// Lock is held by one process at a time. Its methods are called by one goroutine, and return when ctx ends.
type Lock interface {
	// Acquire tries once to take the lock, for Duration from now, and reports whether it is held. After an error it is not
	// known; taking a lock again that is held prolongs it.
	Acquire(ctx context.Context) (bool, error)
	// Renew prolongs the lock to Duration from now, and reports whether it is still held.
	Renew(ctx context.Context) (bool, error)
	// Release gives the lock up, if it is held.
	Release(ctx context.Context) error
}

// Lead calls lead whenever this process holds the lock, with a context that ends when ctx does, or when the lock could
// not be renewed in time. When lead returns, the lock is released, and tried again while ctx lasts. Lead returns nil
// when ctx has ended, lead has returned and the lock is released. What prevents an attempt is logged once; errors of
// the Lock must not contain secrets.
func Lead(ctx context.Context, lock Lock, logger telemetry.Logger, lead func(ctx context.Context)) error {
	e := &election{lock: lock, logger: logger, lead: lead}
	for ctx.Err() == nil {
		e.attempt(ctx)
		wait(ctx, retryInterval/2+rand.N(retryInterval/2)) //nolint:gosec // It only spreads attempts.
	}
	return nil
}

// election is one call of Lead.
type election struct {
	lock   Lock
	logger telemetry.Logger
	lead   func(ctx context.Context)
	// reason is the last error of an attempt, which was logged.
	reason string
}

// attempt tries to take the lock, and leads if that works.
func (e *election) attempt(ctx context.Context) {
	began := time.Now()
	request, cancel := context.WithTimeout(ctx, requestTimeout)
	held, err := e.lock.Acquire(request)
	cancel()
	switch {
	case err != nil:
		e.failed(ctx, err)
	case held:
		e.hold(ctx, began.Add(Duration))
	}
	if err == nil && e.reason != "" {
		e.reason = ""
		e.logger.Info("leader election for certificates works again")
	}
	if err != nil || held {
		e.release(ctx, held)
	}
}

// failed logs why an attempt failed, unless the last one failed for the same reason.
func (e *election) failed(ctx context.Context, err error) {
	if ctx.Err() == nil && err.Error() != e.reason {
		e.reason = err.Error()
		e.logger.Warn("leader election for certificates fails", "reason", e.reason)
	}
}

// release gives the lock up, also when ctx has ended.
func (e *election) release(ctx context.Context, held bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	if err := e.lock.Release(ctx); err != nil && held {
		e.logger.Debug("the leader's lock for certificates was not released, and expires", "reason", err.Error())
	}
}

// hold leads, and renews the lock, until lead has returned. The lock is valid until the given time.
func (e *election) hold(ctx context.Context, valid time.Time) {
	leading, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.lead(leading)
	}()
	defer func() { <-done }()
	defer stop()
	ticker := time.NewTicker(renewInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-leading.Done():
			return
		case <-ticker.C:
		}
		began := time.Now()
		limit := began.Add(requestTimeout)
		if valid.Before(limit) {
			limit = valid
		}
		request, cancel := context.WithDeadline(leading, limit)
		held, err := e.lock.Renew(request)
		cancel()
		switch {
		case err == nil && held:
			valid = began.Add(Duration)
		case err == nil || !time.Now().Add(renewInterval).Before(valid):
			if leading.Err() == nil {
				e.logger.Warn("this process no longer leads for certificates, its lock was lost")
			}
			return
		}
	}
}

// wait returns after a time, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
