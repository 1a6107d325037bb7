package entrypoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// minPause and maxPause bound how long the accept loop waits after an error, such as no free file descriptors.
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// systemListen listens with the operating system's sockets.
func (e *Entrypoint) systemListen(ctx context.Context, network, address string) (net.Listener, error) {
	var config net.ListenConfig
	if e.settings.reusePort {
		config.Control = reusePort
	}
	return config.Listen(ctx, network, address)
}

// accept takes connections until the listener is closed. Nothing in it waits for a client.
func (e *Entrypoint) accept(ctx context.Context, handle func(*connection)) error {
	pause := time.Duration(0)
	for {
		conn, err := e.listener.Accept()
		if err == nil {
			pause = 0
			e.admit(conn, handle)
			continue
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // The listener was closed because ctx ended.
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

// admit starts the goroutine of a connection, if there is room for it.
func (e *Entrypoint) admit(conn net.Conn, handle func(*connection)) {
	c := &connection{Conn: conn, owner: &e.open, local: conn.LocalAddr(), remote: conn.RemoteAddr(), accepted: time.Now()}
	c.identify()
	if !e.open.add(c) {
		_ = conn.Close()
		e.report(report{level: warning, text: "connection refused: transport.limits.maxConnections is reached"})
		return
	}
	go handle(c)
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
