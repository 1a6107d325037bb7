package dns01

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mholt/acmez/v3/acme"
)

// settlePoll is the time between questions whether a challenge is settled.
const settlePoll = time.Second

// turn says which challenge a sequential provider holds.
type turn struct {
	mu      *sync.Mutex
	changed chan struct{} // is closed and made anew when something below changes
	holder  *acme.Challenge
	ready   time.Time // when the holder's Wait has returned; zero before
	freed   time.Time // when the last holder was removed
}

func newTurn() turn { return turn{mu: &sync.Mutex{}, changed: make(chan struct{})} }

// takeTurn waits until the provider holds no other challenge, and has it write the record of this one. A challenge that
// is held for another one of the same order would be cleaned up only after this one, so it is removed as soon as the
// authority is done with it.
func (s *Solver) takeTurn(ctx context.Context, c acme.Challenge) error {
	for {
		holder, taken, wait, changed := s.turn.take(c, s.pause)
		if taken {
			break
		}
		if holder != nil {
			done, err := s.isSettled(ctx, *holder)
			if err != nil {
				return fmt.Errorf("whether the challenge of %s is settled: %w", holder.Identifier.Value, err)
			}
			if done {
				s.removeEarly(ctx, *holder)
				continue
			}
		}
		if err := waitFor(ctx, changed, wait); err != nil {
			return fmt.Errorf("the DNS provider holds one challenge at a time, and had no turn for %s: %w",
				c.Identifier.Value, err)
		}
	}
	s.mu.Lock()
	one := s.records[key(c)]
	write := one != nil && !one.presented
	if write {
		one.presented = true
	}
	s.mu.Unlock()
	if !write {
		return nil
	}
	return s.present(ctx, c)
}

// take makes the challenge the holder, if nothing is in its way. Otherwise it returns the holder, if its Wait has
// returned, how long to wait for a change, and what is closed on one.
func (t *turn) take(c acme.Challenge, pause time.Duration) (
	holder *acme.Challenge, taken bool, wait time.Duration, changed <-chan struct{},
) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := time.Duration(0)
	if !t.freed.IsZero() {
		rest = time.Until(t.freed.Add(pause))
	}
	switch {
	case t.holder != nil && key(*t.holder) == key(c):
		return nil, true, 0, t.changed
	case t.holder == nil && rest <= 0:
		t.holder, t.ready = &c, time.Time{}
		return nil, true, 0, t.changed
	case t.holder == nil:
		return nil, false, rest, t.changed
	case t.ready.IsZero():
		return nil, false, settlePoll, t.changed
	}
	return t.holder, false, settlePoll, t.changed
}

// isSettled reports whether the authority is done with a challenge that was ready.
func (s *Solver) isSettled(ctx context.Context, c acme.Challenge) (bool, error) {
	if s.settled != nil {
		return s.settled(ctx, c)
	}
	s.turn.mu.Lock()
	defer s.turn.mu.Unlock()
	return time.Since(s.turn.ready) >= s.pause, nil
}

// removeEarly removes a settled challenge's record before its order asks for it.
func (s *Solver) removeEarly(ctx context.Context, c acme.Challenge) {
	s.mu.Lock()
	one := s.records[key(c)]
	remove := one != nil && one.presented
	if remove {
		one.presented = false
	}
	s.mu.Unlock()
	if remove {
		if err := s.remove(ctx, c); err != nil {
			s.logger.Warn("The record of a challenge remains", "record", c.DNS01TXTRecordName(), "error", err.Error())
		}
	}
	s.turn.end(key(c))
}

// handOver notes that the authority may look at the holder's record.
func (t *turn) handOver(of string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holder != nil && key(*t.holder) == of {
		t.ready = time.Now()
		t.notify()
	}
}

// end makes room for the next challenge, if this one is the holder.
func (t *turn) end(of string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holder != nil && key(*t.holder) == of {
		t.holder, t.freed = nil, time.Now()
		t.notify()
	}
}

func (t *turn) notify() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// waitFor waits for a change or the time.
func waitFor(ctx context.Context, changed <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
