package entrypoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// ErrHandedOver is the cause with which the context of Serve ends where another process has the sockets and serves
// them; [HandedOver] is the same with a time. Clients are not accepted any more, and those in the queue of the system
// are left to the other process. Connections, also idle ones, stay until they end by themselves: their next response
// ends keep-alive, and clients of HTTP/2 and HTTP/3 get GOAWAY. What is left at the end of the time is cut. Connections
// of HTTP/3 need [Entrypoint.Park] before, and end at once without it. Sessions of UDP end at once, since their
// datagrams reach the other process.
var ErrHandedOver = errors.New("the sockets are handed over")

// HandedOver is ErrHandedOver with the time that connections have to end.
type HandedOver struct {
	// Drain takes the place of lifeCycle.graceTimeOut; 0 leaves that in place.
	Drain time.Duration
}

// Error returns the text of ErrHandedOver.
func (HandedOver) Error() string { return ErrHandedOver.Error() }

// Unwrap returns ErrHandedOver.
func (HandedOver) Unwrap() error { return ErrHandedOver }

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

// drainHandedOver is drain after a hand-over. No connection is closed for being idle or silent before the end of the
// time, since its next request could come at that moment.
func (e *Entrypoint) drainHandedOver(
	base context.Context, servers servers, stopOpening context.CancelFunc, limit time.Duration,
) {
	if limit == 0 {
		limit = e.settings.grace
	}
	ctx, cancel := context.WithTimeout(base, limit)
	defer cancel()
	e.endKeepAlives(servers) // Again, for connections that have come since.
	e.open.await(ctx, upTo(active))
	e.shutDown(ctx, base, servers, stopOpening)
}
