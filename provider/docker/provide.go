package docker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Provide implements provider.Provider. It returns nil when ctx ends, and nothing else ends it: an engine that is not
// there is waited for. It must not be called twice at once.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	s := &session{Provider: p, messages: messages, asked: map[string]uint64{}}
	clear(p.published) // Whoever listens now has heard nothing yet.
	p.last = nil
	delay := firstDelay
	for ctx.Err() == nil {
		begin := time.Now()
		err := s.follow(ctx)
		if err == nil { // All is said, or ctx has ended.
			<-ctx.Done()
			break
		}
		if time.Since(begin) >= steady {
			delay = firstDelay
		}
		s.report(ctx, err)
		// Half of the delay is random, so that several instances don't return to the engine at the same moment.
		pause(ctx, delay/2+rand.N(delay/2))
		delay = min(2*delay, lastDelay)
	}
	return nil
}

// pause waits for the duration or until ctx ends.
func pause(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// session is one run of Provide.
type session struct {
	*Provider
	messages chan<- dynamic.Message
	// running are the goroutines of one connection.
	running sync.WaitGroup
	// asked are the inspections that are under way, each container's last one; number is that of the last one of all.
	asked  map[string]uint64
	number uint64
	// told is the state that was reported last.
	told dynamic.ProviderState
}

func (s *session) send(ctx context.Context, message dynamic.Message) {
	message.ProviderName = Name
	select {
	case s.messages <- message:
	case <-ctx.Done():
	}
}

// errStreamEnded says that the engine has ended the stream of events.
var errStreamEnded = errors.New("the engine has ended the stream of events")

// follow connects, brings everything up to date and follows the events until the connection is lost.
func (s *session) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	connection, err := s.connect()
	if err != nil {
		cancel()
		return err
	}
	defer connection.close()
	box, broken := newInbox(), make(chan error, 1)
	defer s.running.Wait()
	defer cancel()
	if err := connection.ping(ctx); err != nil {
		return err
	}
	if s.config.Watch {
		s.listen(ctx, connection, box, broken)
	}
	if err := s.resync(ctx, connection, box); err != nil {
		return err
	}
	if !s.config.Watch {
		return nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-broken:
			return err
		case <-box.ready:
			err = s.update(ctx, connection, box)
		case <-beat.C:
			err = s.beat(ctx, connection, box)
		}
		if err != nil {
			return err
		}
	}
}

// listen puts events into the inbox until the stream ends. It has begun when listen returns.
func (s *session) listen(ctx context.Context, connection engine, box *inbox, broken chan<- error) {
	stream, failed := connection.listen(ctx)
	s.running.Go(func() {
		for {
			select {
			case event := <-stream:
				box.put(event)
			case err := <-failed:
				if err == nil {
					err = errStreamEnded
				}
				broken <- fmt.Errorf("events: %w", err)
				return
			}
		}
	})
}

// report says that the engine can't be reached, and that everything stays as it is.
func (s *session) report(ctx context.Context, err error) {
	reason := fmt.Sprintf("the engine at %s can't be read: %v", redact(s.config.Endpoint), err)
	state := dynamic.StateUnchanged
	switch {
	case refused(err):
		state = dynamic.StateForbidden
	case s.last != nil:
		state = dynamic.StateSynced
	}
	if reason == s.reason && state == s.told {
		return
	}
	if s.reason == "" {
		s.logger.Warn("docker: the engine can't be read; everything stays as it was", "endpoint", redact(s.config.Endpoint),
			"error", err)
	}
	s.reason, s.told = reason, state
	s.send(ctx, dynamic.Message{State: state, Reason: reason})
}
