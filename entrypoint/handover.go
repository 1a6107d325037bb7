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
// ends keep-alive, and clients of HTTP/2 and HTTP/3 get GOAWAY, for a thousand connections in a second, or more where
// they would not be through in half of the time, so that not all come back at once; then those that were idle get
// GOAWAY at the same pace, or within a quarter of the time. What is left at the end of the time is cut. Connections of
// HTTP/3 need [Entrypoint.Park] before, and end at once without it; the sessions of UDP that are not handed over end at
// once, since their datagrams reach the other process.
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
	within := handed.within(e.settings.grace)
	e.endKeepAlivesInTurn(waiting, within/2)
	servers.http1.EndKeepAlives()
	e.goAwayInTurn(waiting, servers, within/4)
	e.endKeepAlives(servers)
	e.open.await(waiting, upTo(active))
	e.shutDown(ended, base, servers, stopOpening)
}

// endKeepAlivesInTurn has connections end with the response to their next request, in no order and within a time. It
// returns after the last one, or when ctx has ended.
func (e *Entrypoint) endKeepAlivesInTurn(ctx context.Context, longest time.Duration) {
	var open []*connection
	e.open.each(func(c *connection) { open = append(open, c) })
	turns := newTurns(len(open), longest)
	defer turns.end()
	for _, c := range open {
		if !turns.next(ctx) {
			return
		}
		c.closing.Store(true)
	}
}

// goAwayInTurn sends GOAWAY on connections of HTTP/2 and HTTP/3, in no order and within a time. It returns after the
// last one, or when ctx has ended. It comes after endKeepAlivesInTurn: a response brings GOAWAY before the next request
// is sent, while one that comes by itself may cross it.
func (e *Entrypoint) goAwayInTurn(ctx context.Context, servers servers, longest time.Duration) {
	count := 0
	e.open.each(func(c *connection) {
		if c.quic || c.described.Load() && c.protocol == protocolHTTP2 {
			count++
		}
	})
	turns := newTurns(count, longest)
	defer turns.end()
	selected := func(net.Conn) bool { return turns.next(ctx) }
	if server, ok := servers.http2.(retirer); ok {
		server.Retire(selected)
	}
	if e.http3 != nil {
		e.http3.Retire(selected)
	}
}

const (
	// turnPause is the time between groups of connections that end, and turnGroup their size: clients of a thousand
	// connections come back in a second.
	turnPause = 100 * time.Millisecond
	turnGroup = 100
)

// turns divides connections into groups, which are larger where it would take longer than a time.
type turns struct {
	ticker *time.Ticker
	// size is that of a group, left what is left of the current one.
	size, left int
}

// newTurns returns the turns of so many connections. end must be called.
func newTurns(count int, longest time.Duration) *turns {
	size := max(turnGroup, count/max(1, int(longest/turnPause)))
	return &turns{ticker: time.NewTicker(turnPause), size: size, left: size}
}

// next waits for the turn of a connection. It returns false when ctx has ended.
func (t *turns) next(ctx context.Context) bool {
	if t.left == 0 {
		select {
		case <-t.ticker.C:
		case <-ctx.Done():
			return false
		}
		t.left = t.size
	}
	t.left--
	return ctx.Err() == nil
}

func (t *turns) end() { t.ticker.Stop() }
