package handover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// upgrade starts a successor, and answers when it serves or has failed.
func (s *Server) upgrade(ctx context.Context, conn *packetConn, offer *Offer) error {
	if offer.Upgrader == nil {
		return errors.New("this process starts no successor")
	}
	if err := s.claimUpgrade(); err != nil {
		return err
	}
	defer s.releaseUpgrade()
	child, err := offer.Upgrader.Start()
	if err != nil {
		return fmt.Errorf("starting a successor: %w", err)
	}
	_ = conn.send(&message{Type: typeStarted, PID: child.PID()}) // It goes on also without the one that has asked for it.
	limit := time.NewTimer(s.timeouts.loading)
	defer limit.Stop()
	select {
	case <-s.left:
	case err = <-child.Ended():
		err = fmt.Errorf("process %d has ended: %w", child.PID(), err)
	case <-limit.C:
		child.Kill()
		err = fmt.Errorf("process %d does not serve after %v", child.PID(), s.timeouts.loading)
	case <-ctx.Done():
		err = errors.New("this process ends; its successor goes on by itself")
	}
	select {
	case <-s.left: // It counts also when the other events have come since.
		_ = conn.send(&message{Type: typeDone})
		return nil
	default:
	}
	_ = conn.send(&message{Type: typeFailed, Reason: err.Error()})
	offer.Failed(fmt.Errorf("upgrade: %w", err))
	return nil
}

// claimUpgrade begins an upgrade, if neither another one nor a hand-over is under way.
func (s *Server) claimUpgrade() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.hasLeft() {
		return errors.New("another process has taken over")
	}
	if s.giving || s.upgrading {
		return errors.New("busy: another upgrade is under way")
	}
	s.upgrading = true
	return nil
}

// releaseUpgrade ends an upgrade.
func (s *Server) releaseUpgrade() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.upgrading = false
}

// Upgrade has the process that listens on a path start its successor, and returns the successor's PID when that serves,
// which may take five minutes. The error says why it does not; the other process serves on then. It is ErrNoPredecessor
// where no process listens. Besides the user of the process, root may do so.
func Upgrade(ctx context.Context, path string) (pid int, err error) {
	return requestUpgrade(ctx, path, defaultTimeouts())
}

func requestUpgrade(ctx context.Context, path string, limits timeouts) (pid int, err error) {
	if err := checkPath(path); err != nil {
		return 0, err
	}
	unix, of, err := dial(ctx, path, limits.answer)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close() }()
	if os.Geteuid() != 0 {
		if err := admit(of.uid); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = unix.Close() })
	pid, err = awaitUpgrade(newPacketConn(unix, limits.answer), limits)
	if !stop() && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return pid, err
}

// awaitUpgrade sends the request for an upgrade, and waits for its result.
func awaitUpgrade(conn *packetConn, limits timeouts) (pid int, err error) {
	if err := conn.send(&message{Type: typeUpgrade}); err != nil && !errors.Is(err, errEnded) {
		return 0, err
	}
	started, err := conn.expect(typeStarted, limits.answer)
	if err != nil {
		return 0, err
	}
	result, descriptors, err := conn.receive(limits.loading + limits.answer)
	if err != nil {
		return 0, fmt.Errorf("waiting for process %d: %w", started.PID, err)
	}
	closeDescriptors(descriptors)
	switch result.Type {
	case typeDone:
		return started.PID, nil
	case typeFailed:
		return 0, &RefusedError{Reason: result.Reason}
	default:
		return 0, fmt.Errorf("waiting for the successor: a message of type %s came", result.Type)
	}
}

// Holder returns the PID of the process that listens on a path: 0 for one of a PID namespace that is not visible here.
// The error is ErrNoPredecessor where there is none.
func Holder(ctx context.Context, path string) (pid int, err error) {
	if err := checkPath(path); err != nil {
		return 0, err
	}
	unix, of, err := dial(ctx, path, defaultTimeouts().answer)
	if err != nil {
		return 0, err
	}
	return of.pid, unix.Close()
}
