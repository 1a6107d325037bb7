// Package graceful ends servers of net/http without dropping a request that a client has sent.
//
// Shutdown of [http.Server] closes connections whose first request it reads meanwhile, without a response. Clients do
// not repeat a request on a new connection.
package graceful

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// ErrCutOff says that requests had not ended at the end of the limit.
var ErrCutOff = errors.New("requests were cut off")

// Serve has the server accept connections until ctx ends, closes the listener, and gives the requests of the
// connections that were accepted a time to end: half of the limit to come, and all of it for their responses, which
// end their connections. What is left at the end of the limit is cut, which is the error ErrCutOff; other errors are
// those of the accept loop. accept is Serve or ServeTLS of the server with the listener; ConnState of the server is
// replaced.
func Serve(
	ctx context.Context, server *http.Server, listener net.Listener, limit time.Duration, accept func() error,
) error {
	open := &connections{open: map[net.Conn]struct{}{}}
	server.ConnState = open.change
	ended := make(chan error, 1)
	go func() { ended <- accept() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	_ = listener.Close() // Nothing is left to do about its error.
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		return err
	}
	server.SetKeepAlivesEnabled(false) // It closes idle connections.
	open.wait(limited, limit/2)
	if server.Shutdown(limited) != nil {
		_ = server.Close()
		return ErrCutOff
	}
	return nil
}

// connections are those that are not idle. It is safe for concurrent use.
type connections struct {
	mutex sync.Mutex
	open  map[net.Conn]struct{}
	// none is closed when there are none, from wait on.
	none chan struct{}
}

// change is the ConnState of a server.
func (c *connections) change(conn net.Conn, state http.ConnState) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch state {
	case http.StateNew, http.StateActive:
		c.open[conn] = struct{}{}
	case http.StateIdle, http.StateHijacked, http.StateClosed:
		delete(c.open, conn)
	}
	c.signal()
}

func (c *connections) signal() {
	if c.none != nil && len(c.open) == 0 {
		close(c.none)
		c.none = nil
	}
}

// wait returns when there are none, after the limit, or when ctx has ended.
func (c *connections) wait(ctx context.Context, limit time.Duration) {
	none := make(chan struct{})
	c.mutex.Lock()
	c.none = none
	c.signal()
	c.mutex.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	case <-ctx.Done():
	}
}
