package provider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// The delay before a restart doubles from about a second up to a minute.
	firstRestartDelay = time.Second
	lastRestartDelay  = time.Minute
	// steadyRun is how long a provider must have run for the delay to start from the first one again.
	steadyRun = time.Minute
	// stopTimeout is how long a provider may take to return after its context has ended.
	stopTimeout = 5 * time.Second
)

// supervise runs one provider and restarts it when it fails, until ctx ends or the provider finishes.
func (h *Hub) supervise(ctx context.Context, entry Entry) {
	deadline := time.NewTimer(h.firstStateTimeout)
	defer deadline.Stop()
	delay := firstRestartDelay
	for {
		started := time.Now()
		err := h.runOnce(ctx, entry, deadline.C)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			h.logger.Debug("provider has finished; its last state stays in use", "provider", entry.Name)
			h.awaitDeadline(ctx, entry, deadline.C)
			return
		}
		if time.Since(started) >= steadyRun {
			delay = firstRestartDelay
		}
		// Half of the delay is random, so that replicas do not reach a recovering source at the same moment.
		pause := delay/2 + rand.N(delay/2)
		delay = min(2*delay, lastRestartDelay)
		h.failed(entry, err, pause)
		if !h.sleep(ctx, entry, pause, deadline.C) {
			return
		}
	}
}

// runOnce runs the provider once and receives its messages until it has returned. After ctx has ended, messages are
// dropped, so that the provider is not blocked in a send. A provider that does not return within stopTimeout is left
// running.
func (h *Hub) runOnce(ctx context.Context, entry Entry, deadline <-chan time.Time) error {
	messages := make(chan dynamic.Message)
	done := make(chan error, 1)
	go func() { done <- provide(ctx, entry.Provider, messages) }()
	ended := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case message := <-messages:
			if ctx.Err() == nil {
				h.receive(entry, message)
			}
		case <-deadline:
			h.timedOut(entry)
		case err := <-done:
			return err
		case <-ended:
			ended = nil
			timer := time.NewTimer(stopTimeout)
			defer timer.Stop()
			late = timer.C
		case <-late:
			h.logger.Warn("provider has not stopped in time and is left running", "provider", entry.Name,
				"timeout", stopTimeout)
			return ctx.Err()
		}
	}
}

// provide calls the provider and turns a panic into an error.
func provide(ctx context.Context, provider Provider, messages chan<- dynamic.Message) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &panicError{cause: cause, stack: debug.Stack()}
		}
	}()
	return provider.Provide(ctx, messages)
}

// panicError is a provider's panic.
type panicError struct {
	cause any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.cause) }

// sleep waits for the pause and reports whether to continue.
func (h *Hub) sleep(ctx context.Context, entry Entry, pause time.Duration, deadline <-chan time.Time) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-deadline:
			h.timedOut(entry)
		case <-timer.C:
			return true
		}
	}
}

// awaitDeadline reports a provider that returned without a first state as timed out.
func (h *Hub) awaitDeadline(ctx context.Context, entry Entry, deadline <-chan time.Time) {
	h.mu.Lock()
	pending := h.states[entry.Name].State == dynamic.StatePending
	h.mu.Unlock()
	if !pending {
		return
	}
	select {
	case <-ctx.Done():
	case <-deadline:
		h.timedOut(entry)
	}
}

// failed records why the provider is restarted; its state and its messages stay in use.
func (h *Hub) failed(entry Entry, err error, pause time.Duration) {
	if panicked, ok := errors.AsType[*panicError](err); ok {
		h.logger.Error("provider panicked and is restarted; its last state stays in use", "provider", entry.Name,
			"error", err, "after", pause, "stack", string(panicked.stack))
	} else {
		h.logger.Warn("provider failed and is restarted; its last state stays in use", "provider", entry.Name,
			"error", err, "after", pause)
	}
	h.mu.Lock()
	status := h.states[entry.Name]
	status.Reason = "started again after: " + err.Error()
	h.states[entry.Name] = status
	h.mu.Unlock()
	h.wake()
}

// timedOut changes the state of a provider from pending to timed out.
func (h *Hub) timedOut(entry Entry) {
	h.mu.Lock()
	status := h.states[entry.Name]
	late := status.State == dynamic.StatePending
	if late {
		reason := fmt.Sprintf("no first state within %s", h.firstStateTimeout)
		if status.Reason != "" {
			reason += "; " + status.Reason
		}
		status.State, status.Since, status.Reason = dynamic.StateTimedOut, time.Now(), reason
		h.states[entry.Name] = status
	}
	h.mu.Unlock()
	if late {
		h.logger.Warn("provider has not delivered its first state in time", "provider", entry.Name,
			"timeout", h.firstStateTimeout)
		h.wake()
	}
}
