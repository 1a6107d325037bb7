package entrypoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sluiceproxy/sluice/httpio/workers"
)

const (
	// minPause and maxPause bound how long the accept loop waits after an error, such as no free file descriptors.
	minPause = 5 * time.Millisecond
	maxPause = time.Second
	// lastCall is how long the queue of the system must have been empty before the listener is closed, lastCalls how
	// often in a row, since Accept does not look at the queue when the time has passed before, and maxLastCall how long
	// that is tried at most.
	lastCall    = 5 * time.Millisecond
	lastCalls   = 2
	maxLastCall = 200 * time.Millisecond
	// mostIdleWorkers is how many goroutines wait for a connection.
	mostIdleWorkers = 64
)

// systemListen listens with the operating system's sockets.
func (e *Entrypoint) systemListen(ctx context.Context, network, address string) (net.Listener, error) {
	var config net.ListenConfig
	if e.settings.reusePort {
		config.Control = reusePort
	}
	keepAlive(&config)
	return config.Listen(ctx, network, address)
}

// listenPackets binds the UDP port with the number of the TCP port.
func (e *Entrypoint) listenPackets(ctx context.Context, tcp net.Addr) (net.PacketConn, error) {
	return listenPacket(ctx, tcp.String(), e.settings.reusePort)
}

// accept takes connections until ctx ends or the listener is closed. Nothing in it waits for a client.
func (e *Entrypoint) accept(ctx context.Context, pool *workers.Pool[*connection]) error {
	defer close(e.parking.ended)
	pause := time.Duration(0)
	for {
		conn, err := e.listener.Accept()
		if err == nil {
			pause = 0
			if e.deps.Gate != nil {
				e.deps.Gate.Enter(ctx)
			}
			e.admit(conn, pool)
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && e.parking.wait(ctx) {
			continue
		}
		if ctx.Err() != nil {
			if !errors.Is(context.Cause(ctx), ErrHandedOver) { // The queue is the successor's then.
				e.emptyQueue(pool)
			}
			return nil // It was closed because ctx ended.
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("entrypoint %q: %w", e.name, err)
		}
		pause = min(max(2*pause, minPause), maxPause)
		e.report(report{level: warning, text: "accepting a connection failed", err: err, pause: pause})
		if !wait(ctx, pause) {
			return nil
		}
	}
}

// emptyQueue takes the connections that the system has made already: it would reset them when the listener is closed,
// though their clients may have sent a request.
func (e *Entrypoint) emptyQueue(pool *workers.Pool[*connection]) {
	limit := time.Now().Add(maxLastCall)
	for empty := 0; empty < lastCalls && time.Now().Before(limit) && e.setAcceptDeadline() == nil; {
		conn, err := e.listener.Accept()
		switch {
		case err == nil:
			empty = 0
			e.admit(conn, pool)
		case errors.Is(err, os.ErrDeadlineExceeded):
			empty++
		default:
			return
		}
	}
}

// deadlineListener is a listener whose Accept can be limited in time, as [net.TCPListener].
type deadlineListener interface {
	SetDeadline(t time.Time) error
}

// setAcceptDeadline has Accept end soon if no connection comes. Not every listener can.
func (e *Entrypoint) setAcceptDeadline() error {
	if listener, ok := e.listener.(deadlineListener); ok {
		return listener.SetDeadline(time.Now().Add(lastCall))
	}
	return errors.ErrUnsupported
}

// admit starts to serve a connection, if there is room for it.
func (e *Entrypoint) admit(conn net.Conn, pool *workers.Pool[*connection]) {
	c := &connection{Conn: conn, owner: &e.open, local: conn.LocalAddr(), remote: conn.RemoteAddr(), accepted: time.Now()}
	c.counter = e.deps.Connections
	c.identify()
	c.proxied = e.settings.readsProxy(c)
	if why := e.enter(c, !c.proxied); why != admitted {
		_ = conn.Close()
		e.refuseConnection(why, c.text)
		return
	}
	pool.Start(c)
}

// wait lets time pass, and reports whether ctx let it.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
