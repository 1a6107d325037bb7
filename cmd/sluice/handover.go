package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/handover"
	"github.com/sluiceproxy/sluice/servicemanager"
	"github.com/sluiceproxy/sluice/static"
)

// succession takes the sockets of the process that runs, and hands them to the next one. It is the handover.Source and
// handover.Service of a system. A nil one has no option handover, and does nothing.
type succession struct {
	system *system
	config *static.Handover
	server *handover.Server
	// manager is the service manager.
	manager *servicemanager.Notifier
	// unused are the addresses of the predecessor that this process does not have.
	unused []handover.Address
	// program is started again for an upgrade.
	program *program
	// logs is rotated by the process that serves.
	logs logFile
	// stopping is closed when the process is to end.
	stopping <-chan struct{}
	// predecessor serves until takeOver; nil without one.
	predecessor *handover.Client
	entrypoints []listener
	// inheritsQUIC says that the keys of HTTP/3 are the predecessor's.
	inheritsQUIC bool
	// leave ends serving.
	leave context.CancelCauseFunc
	// parked are the accept loops that Yield has stopped.
	parked []parkable
	// relayed are the sessions of UDP that the successor gets.
	relayed []relayed
	// sessions is the state that belongs to relayed.
	sessions []byte
	// announced are the reserved addresses that the predecessor has got.
	announced []byte
}

// parkable is an accept loop that can stop for a while.
type parkable interface {
	Park(ctx context.Context) error
	Unpark()
}

// newSuccession gets the sockets of the process that runs, if there is one.
func (s *system) newSuccession(
	ctx context.Context, manager *servicemanager.Notifier, logs logFile,
) (*succession, error) {
	config := s.config.Handover
	if config == nil {
		return nil, nil
	}
	program, err := newProgram()
	if err != nil {
		return nil, fmt.Errorf("handover: %w", err)
	}
	server, err := handover.Listen(config.Socket)
	if err != nil {
		return nil, fmt.Errorf("handover: %w", err)
	}
	h := &succession{
		system: s, config: config, server: server, manager: manager, program: program, logs: logs, stopping: ctx.Done(),
	}
	predecessor, err := handover.Connect(ctx, config.Socket, release().Version)
	switch {
	case err == nil:
		h.predecessor, s.predecessor = predecessor, predecessor.Inherited()
		if err := h.inheritQUIC(); err != nil {
			h.close()
			return nil, err
		}
		h.rotate(false)
		s.logger.Info("the sockets of a running process are inherited", "predecessor", predecessor.Predecessor().String())
		h.inheritTickets()
		h.inheritChecks()
		if err := h.announce(ctx); err != nil { // Before anything listens.
			h.close()
			return nil, err
		}
	case !errors.Is(err, handover.ErrNoPredecessor):
		return nil, errors.Join(err, server.Close())
	}
	return h, nil
}

// inherits reports whether there is a predecessor.
func (h *succession) inherits() bool { return h != nil && h.predecessor != nil }

// close gives up what is left of a hand-over, and removes the socket unless it is a successor's.
func (h *succession) close() {
	if h == nil {
		return
	}
	if h.predecessor != nil {
		_ = h.predecessor.Close()
	}
	_ = h.server.Close()
}

// takeOver waits until this process is ready, has the predecessor stop serving, and goes on with its sessions.
func (h *succession) takeOver(ctx context.Context, entrypoints []listener) error {
	if !h.inherits() {
		return nil
	}
	h.entrypoints = entrypoints
	if err := h.announce(ctx); err != nil { // What the system has chosen, such as ports.
		return err
	}
	limit := time.NewTimer(handover.MaxLoading)
	defer limit.Stop()
	select {
	case <-h.system.pipeline.FirstReady():
	case <-limit.C:
		return fmt.Errorf("handover: not ready after %v; the running process serves on", handover.MaxLoading)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	h.system.identity.awaitFirst(ctx)
	if err := h.announce(ctx); err != nil { // Listeners of providers have been opened.
		return err
	}
	err := h.predecessor.TakeOver(ctx)
	if errors.Is(err, handover.ErrPredecessorEnded) {
		h.system.logger.Warn("the running process has ended before the hand-over; its sockets are served on")
	} else if err != nil {
		return fmt.Errorf("handover: the running process serves on: %w", err)
	}
	if err := h.adoptQUIC(entrypoints); err != nil {
		return err
	}
	h.inheritTickets() // They may have changed.
	h.inheritCounts()
	h.adoptSessions()
	if err := h.predecessor.Refused(); err != nil {
		h.returnSessions()
		return fmt.Errorf("handover: the running process serves on: %w", err)
	}
	return nil
}

// settleTime is how long a process that is to end serves on for a successor that is loading.
const settleTime = 10 * time.Second

// settle waits until no successor is loading, or until settleTime has passed.
func (h *succession) settle(ctx context.Context) {
	if h == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	h.server.Settle(ctx)
}

// confirm publishes the socket for the next hand-over, and has the predecessor drain, since this process serves until
// ctx ends.
func (h *succession) confirm(ctx context.Context) error {
	if h == nil {
		return nil
	}
	if ctx.Err() != nil { // Something cannot be served, or this process is to end.
		h.returnSessions()
		return context.Cause(ctx)
	}
	if err := h.server.Publish(); err != nil {
		h.returnSessions()
		return fmt.Errorf("handover: %w", err)
	}
	if h.predecessor == nil {
		return nil
	}
	if err := h.predecessor.Confirm(); err != nil {
		h.returnSessions()
		return fmt.Errorf("handover: the running process serves on: %w", err)
	}
	h.unused = h.predecessor.Inherited().Closed()
	h.system.logger.Info("serving in the place of the predecessor", "predecessor", h.predecessor.Predecessor().String())
	h.manager.Ready()
	h.rotate(true)
	return nil
}

// rotate has this process rotate the log by its size and age, or not.
func (h *succession) rotate(on bool) {
	if err := h.logs.Rotate(on); err != nil {
		h.system.logger.Error("the file of the log cannot be closed", "error", err)
	}
}

// serve hands over to the next process, until that serves or ctx ends. leave ends serving then.
func (h *succession) serve(ctx context.Context, entrypoints []listener, leave context.CancelCauseFunc) {
	if h == nil {
		return
	}
	h.entrypoints, h.leave = entrypoints, leave
	err := h.server.Serve(ctx, handover.Offer{
		Source: h, Service: h, Upgrader: h.program, Release: release().Version, Announced: h.successorListens,
		Failed: func(err error) { h.system.logger.Warn("no hand-over; this process serves on", "error", err) },
	})
	if err != nil {
		h.system.logger.Error("no hand-over is possible any more", "error", err)
	}
}

// States has the secrets of session tickets, the failed health checks and the keys of HTTP/3.
func (h *succession) States(yield func(handover.State) bool) {
	_ = yield(h.ticketState()) && h.checkState(yield) && h.quicState(yield)
}

// FinalStates has the secrets of session tickets, the counts of middlewares, the sessions of UDP, and the clients of
// HTTP/3 whose handshakes are under way.
func (h *succession) FinalStates(yield func(handover.State) bool) {
	_ = yield(h.ticketState()) && h.countState(yield) && h.sessionState(yield) && h.quicOpening(yield)
}

// Yield stops the accept loops, and reading from sessions.
func (h *succession) Yield(ctx context.Context, successor handover.Process) error {
	h.system.logger.Info("a successor takes over", "successor", successor.String())
	h.parked = nil
	for _, one := range h.owners() {
		if loop, ok := one.server.(parkable); ok {
			h.parked = append(h.parked, loop)
		}
	}
	failed := make([]error, len(h.parked))
	var work sync.WaitGroup
	for i, loop := range h.parked {
		work.Go(func() { failed[i] = loop.Park(ctx) })
	}
	work.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	h.relay()
	return nil
}

// Resume has the accept loops and sessions go on.
func (h *succession) Resume() {
	h.relayed, h.sessions = nil, nil
	for _, loop := range h.parked {
		loop.Unpark()
	}
}

// Leave has this process drain.
func (h *succession) Leave(successor handover.Process) {
	h.system.logger.Info("handed over: connections drain", "successor", successor.String())
	for _, loop := range h.parked {
		if sessions, ok := loop.(leavable); ok {
			sessions.Leave()
		}
	}
	h.rotate(false)
	if successor.PID > 0 {
		h.manager.Main(successor.PID)
	}
	h.leave(entrypoint.HandedOver{Drain: time.Duration(h.config.Drain), Stopping: h.stopping})
}
