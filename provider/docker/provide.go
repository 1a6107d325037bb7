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

// Provide implements provider.Provider. It returns nil when ctx ends; while the engine is unreachable, it retries. It
// must not be called twice at once.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	s := &session{Provider: p, messages: messages, asked: map[string]uint64{}}
	clear(p.published) // The receiver of this run has no state yet.
	p.last = nil
	delay := firstDelay
	for ctx.Err() == nil {
		begin := time.Now()
		err := s.follow(ctx)
		if err == nil { // Finished, or ctx has ended.
			<-ctx.Done()
			break
		}
		if time.Since(begin) >= steady {
			delay = firstDelay
		}
		s.report(ctx, err)
		// Half of the delay is random, so that instances do not reconnect at the same moment.
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
	// asked maps each container to the number of its latest running inspection; number is the latest of all.
	asked  map[string]uint64
	number uint64
	// reported is the state that was reported last.
	reported dynamic.ProviderState
}

func (s *session) send(ctx context.Context, message dynamic.Message) {
	message.Provider = Name
	select {
	case s.messages <- message:
	case <-ctx.Done():
	}
}

// errStreamEnded says that the engine has ended the stream of events.
var errStreamEnded = errors.New("the engine has ended the stream of events")

// follow connects, reads all containers, and follows the events until the connection is lost.
func (s *session) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	connection, err := s.connect()
	if err != nil {
		cancel()
		return err
	}
	defer connection.close()
	box, broken := newEventQueue(), make(chan error, 1)
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

// listen puts events into the queue until the stream ends. The subscription is active when listen returns.
func (s *session) listen(ctx context.Context, connection engine, box *eventQueue, broken chan<- error) {
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

// report sends the error of the connection; the last state stays in use.
func (s *session) report(ctx context.Context, err error) {
	reason := fmt.Sprintf("the engine at %s can't be read: %v", redact(s.config.Endpoint), err)
	state := dynamic.StateUnchanged
	switch {
	case refused(err):
		state = dynamic.StateForbidden
	case s.last != nil:
		state = dynamic.StateSynced
	}
	if reason == s.reason && state == s.reported {
		return
	}
	if s.reason == "" {
		s.logger.Warn("docker: the engine cannot be reached; the last state stays in use", "endpoint",
			redact(s.config.Endpoint),
			"error", err)
	}
	s.reason, s.reported = reason, state
	s.send(ctx, dynamic.Message{State: state, Reason: reason})
}
