package entrypoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// ErrHandedOver is the cause with which the context of Serve ends where another process has the sockets and serves
// them; [HandedOver] is the same with a time. Clients are not accepted any more, and those in the queue of the system
// are left to the other process. Connections, also idle ones, stay until they end by themselves: their next response
// ends keep-alive, and clients of HTTP/2 and HTTP/3 get GOAWAY, for a thousand connections in a second, or more where
// they would not be through in half of the time, so that not all come back at once; then those that were idle get
// GOAWAY. What is left at the end of the time is cut. Connections of HTTP/3 need [Entrypoint.Park] before, and end at
// once without it; the sessions of UDP that are not handed over end at once, since their datagrams reach the other
// process.
var ErrHandedOver = errors.New("the sockets are handed over")

// HandedOver is ErrHandedOver with the time that connections have to end.
type HandedOver struct {
	// Drain takes the place of lifeCycle.graceTimeOut; 0 leaves that in place.
	Drain time.Duration
	// Stopping is closed when the process is to end: idle connections are closed then, and the others have
	// lifeCycle.graceTimeOut of what is left of Drain. A nil one is never closed.
	Stopping <-chan struct{}
}

// Error returns the text of ErrHandedOver.
func (HandedOver) Error() string { return ErrHandedOver.Error() }

// Unwrap returns ErrHandedOver.
func (HandedOver) Unwrap() error { return ErrHandedOver }

// within returns the time that connections have to end.
func (h HandedOver) within(grace time.Duration) time.Duration {
	if h.Drain == 0 {
		return grace
	}
	return h.Drain
}

// limit returns two contexts: waiting ends when connections are not waited for any more, ended when those are to be
// cut that are not idle. Both end after Drain, or after grace where that is 0. With Stopping, waiting ends, and ended
// after grace at the latest.
func (h HandedOver) limit(
	base context.Context, grace time.Duration,
) (waiting, ended context.Context, cancel context.CancelFunc) {
	ended, end := context.WithTimeout(base, h.within(grace))
	waiting, stop := context.WithCancel(ended)
	go func() {
		defer stop()
		select {
		case <-h.Stopping:
		case <-ended.Done():
			return
		}
		stop()
		wait(ended, grace)
		end()
	}()
	return waiting, ended, end
}

// handedOver reports whether a context has ended because the sockets are handed over.
func handedOver(ctx context.Context) (HandedOver, bool) {
	cause := context.Cause(ctx)
	var handed HandedOver
	errors.As(cause, &handed)
	return handed, errors.Is(cause, ErrHandedOver)
}

// parking has an accept loop stop for a while.
type parking struct {
	// current is where the loop waits; nil while it accepts.
	current atomic.Pointer[place]
	// ended is closed when there is no loop any more.
	ended chan struct{}
}

// place is one wait of an accept loop.
type place struct {
	// parked is closed when the loop waits, and resume when it may go on.
	parked, resume chan struct{}
}

func newParking() parking { return parking{ended: make(chan struct{})} }

// wait waits until Unpark or until ctx ends, and reports whether ctx has not ended. It returns at once where Park has
// not been called, or Unpark has since.
func (p *parking) wait(ctx context.Context) bool {
	if at := p.current.Load(); at != nil {
		close(at.parked)
		select {
		case <-at.resume:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// Park stops accepting connections and reading datagrams, and returns when that is so, or with the error of ctx when
// that ends before. Those that come are kept in the queues of the system, for another process that has the sockets or
// for Unpark, which must follow also after an error. Open connections are served on; the datagrams of those of HTTP/3
// come from the other process ([Entrypoint.Feeds]). Serve must have been called, and Park and Unpark are called in
// turn.
func (e *Entrypoint) Park(ctx context.Context) error {
	if err := e.parkListener(ctx); err != nil || e.http3 == nil {
		return err
	}
	if err := e.http3.Park(ctx); err != nil {
		return fmt.Errorf("entrypoint %q: HTTP/3: %w", e.name, err)
	}
	return nil
}

// parkListener stops accepting connections over TCP.
func (e *Entrypoint) parkListener(ctx context.Context) error {
	listener, ok := e.listener.(deadlineListener)
	if !ok {
		return fmt.Errorf("entrypoint %q: stopping its accept loop: %w", e.name, errors.ErrUnsupported)
	}
	at := &place{parked: make(chan struct{}), resume: make(chan struct{})}
	if !e.parking.current.CompareAndSwap(nil, at) {
		return fmt.Errorf("entrypoint %q: its accept loop is stopped already", e.name)
	}
	if err := listener.SetDeadline(time.Now()); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("entrypoint %q: stopping its accept loop: %w", e.name, err)
	}
	select {
	case <-at.parked:
	case <-e.parking.ended:
	case <-ctx.Done():
		return fmt.Errorf("entrypoint %q: stopping its accept loop: %w", e.name, context.Cause(ctx))
	}
	return nil
}

// Unpark accepts connections and reads datagrams again after Park. It does nothing where Park has not been called.
func (e *Entrypoint) Unpark() {
	if e.http3 != nil {
		e.http3.Unpark()
	}
	at := e.parking.current.Load()
	if at == nil {
		return
	}
	if listener, ok := e.listener.(deadlineListener); ok {
		_ = listener.SetDeadline(time.Time{}) // Its error is that of a listener that Serve has closed.
	}
	e.parking.current.Store(nil)
	close(at.resume)
}

// Park stops reading datagrams, and returns when none is read any more, or with the cause of ctx when that ends
// before. They are kept in the queues of the system, for another process or for Unpark. Sessions do not end meanwhile,
// and Serve does not return before Unpark or Leave, one of which must follow, also after an error. The server must be
// a SessionServer.
func (e *PacketEntrypoint) Park(ctx context.Context) error {
	server, ok := e.server.(SessionServer)
	if !ok {
		return fmt.Errorf("entrypoint %q: stopping its sessions: %w", e.name, errors.ErrUnsupported)
	}
	if err := server.Park(ctx); err != nil {
		return fmt.Errorf("entrypoint %q: stopping its sessions: %w", e.name, err)
	}
	return nil
}

// Unpark reads datagrams again after Park. It does nothing where Park has not been called.
func (e *PacketEntrypoint) Unpark() {
	if server, ok := e.server.(SessionServer); ok {
		server.Unpark()
	}
}

// Leave gives up the sockets after Park, and the sessions that were handed over: another process serves them. Sessions
// that were not end. Serve returns when its context has ended.
func (e *PacketEntrypoint) Leave() {
	if server, ok := e.server.(SessionServer); ok {
		server.Leave()
	}
}

// drainHandedOver is drain after a hand-over. No connection is closed for being idle or silent before the end of the
// time, since its next request could come at that moment.
func (e *Entrypoint) drainHandedOver(
	base context.Context, servers servers, stopOpening context.CancelFunc, handed HandedOver,
) {
	waiting, ended, cancel := handed.limit(base, e.settings.grace)
	defer cancel()
	e.endKeepAlivesInTurn(waiting, handed.within(e.settings.grace)/2)
	e.endKeepAlives(servers)
	e.open.await(waiting, upTo(active))
	e.shutDown(ended, base, servers, stopOpening)
}

const (
	// endingPause is the time between groups of connections whose keep-alive ends, and endingGroup their size: clients of
	// a thousand connections come back in a second.
	endingPause = 100 * time.Millisecond
	endingGroup = 100
)

// endKeepAlivesInTurn has connections end with the response to their next request, one group after another in no
// order. The groups are larger where it would take longer than a time. It returns after the last group, or when ctx
// has ended.
func (e *Entrypoint) endKeepAlivesInTurn(ctx context.Context, longest time.Duration) {
	var open []*connection
	e.open.each(func(c *connection) { open = append(open, c) })
	size := max(endingGroup, len(open)/max(1, int(longest/endingPause)))
	ticker := time.NewTicker(endingPause)
	defer ticker.Stop()
	for group := range slices.Chunk(open, size) {
		for _, c := range group {
			c.closing.Store(true)
		}
		if open = open[len(group):]; len(open) == 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
