package translation

import (
	"cmp"
	"context"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// leastInterval is the minimum time between two messages, the default of Sender.Interval.
	leastInterval = 10 * time.Millisecond
	// longestPause bounds how long a large configuration makes an adaptive Sender pause of itself.
	longestPause = 100 * time.Millisecond
)

// Sender sends the messages of a provider. Its fields are not changed once it runs.
type Sender struct {
	// Provider is the name of the provider.
	Provider string
	// Interval is the minimum time between two messages; 0 means 10 ms.
	Interval time.Duration
	// Adaptive pauses after each call of Next, also without a message, ten times as long as it took, at least for
	// Interval and at most for 100 ms or Interval: many edits of many routes cost a tenth of a core.
	Adaptive bool
	// Touched holds a value when Next may return something else, Status when Pending may, or the state of Next.
	Touched, Status <-chan struct{}
	// Pending reports whether a watch has no first state yet, and why; the reason may be empty.
	Pending func() (pending bool, reason string)
	// Next translates what has changed, and returns the message of the whole.
	Next func() (next dynamic.Message, changed bool)
}

// Run sends nothing but what it waits for until no watch is pending, and then what Next returns, at first and after
// each change of it. It returns nil when ctx ends; nothing else ends it. It must not be called twice at once.
func (s *Sender) Run(ctx context.Context, messages chan<- dynamic.Message) error {
	if !s.settled(ctx, messages) {
		return nil
	}
	var sent dynamic.Message
	for first := true; ; first = false {
		began := time.Now()
		next, changed := s.Next()
		took := time.Since(began)
		due := first || changed || next.State != sent.State || next.Reason != sent.Reason
		if due {
			if !send(ctx, messages, next) {
				return nil
			}
			sent = next
		}
		if (due || s.Adaptive) && !pause(ctx, s.pauseAfter(took)) {
			return nil
		}
		select {
		case <-s.Touched:
		case <-s.Status:
		case <-ctx.Done():
			return nil
		}
	}
}

// settled waits until no watch is pending, and reports meanwhile what is pending; false means that ctx has ended.
func (s *Sender) settled(ctx context.Context, messages chan<- dynamic.Message) bool {
	reported := ""
	for {
		if ctx.Err() != nil {
			return false
		}
		pending, reason := s.Pending()
		if !pending {
			return true
		}
		if reason != reported {
			reported = reason
			if !send(ctx, messages, dynamic.Message{Provider: s.Provider, Reason: reason}) {
				return false
			}
		}
		select {
		case <-s.Status:
		case <-ctx.Done():
			return false
		}
	}
}

// pauseAfter returns the pause after a translation that took some time.
func (s *Sender) pauseAfter(took time.Duration) time.Duration {
	interval := cmp.Or(s.Interval, leastInterval)
	if s.Adaptive {
		return max(interval, min(10*took, longestPause))
	}
	return interval
}

// send sends a message; false means that ctx has ended.
func send(ctx context.Context, messages chan<- dynamic.Message, message dynamic.Message) bool {
	select {
	case messages <- message:
		return true
	case <-ctx.Done():
		return false
	}
}

// pause waits; false means that ctx has ended.
func pause(ctx context.Context, interval time.Duration) bool {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
