package forward

import (
	"context"
	"errors"
	"net"
	"sync"
)

// errClosed is the error of a dial to an endpoint whose connections were closed for good.
var errClosed = errors.New("the connections to the endpoint were closed")

// live tracks the connections of an upstream that net/http manages. The zero value is ready.
type live struct {
	mutex  sync.Mutex
	conns  map[*liveConn]struct{}
	closed bool
}

// liveConn is a connection that is listed until it is closed.
type liveConn struct {
	net.Conn
	of *live
}

// liveTCP is a liveConn with access to the file descriptor.
type liveTCP struct {
	*net.TCPConn
	listed *liveConn
}

// Close closes the connection and takes it off the list.
func (c *liveTCP) Close() error { return c.listed.Close() }

// Close closes the connection and takes it off the list.
func (c *liveConn) Close() error {
	c.of.mutex.Lock()
	delete(c.of.conns, c)
	c.of.mutex.Unlock()
	return c.Conn.Close()
}

// list returns a dial whose connections are listed.
func (l *live) list(dial func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		if l.over() {
			return nil, errClosed
		}
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		listed := &liveConn{Conn: conn, of: l}
		if !l.add(listed) {
			_ = conn.Close() // nothing was sent over it
			return nil, errClosed
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			return &liveTCP{TCPConn: tcp, listed: listed}, nil
		}
		return listed, nil
	}
}

func (l *live) over() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.closed
}

func (l *live) add(conn *liveConn) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return false
	}
	if l.conns == nil {
		l.conns = make(map[*liveConn]struct{})
	}
	l.conns[conn] = struct{}{}
	return true
}

// close closes all connections, including those that pending dials return.
func (l *live) close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.closed = true
	for conn := range l.conns {
		_ = conn.Conn.Close() // a request that uses it gets an error
	}
	clear(l.conns)
}
