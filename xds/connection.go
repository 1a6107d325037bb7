package xds

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const (
	// minConnections is the smallest bound of connections; it is twice MaxStreams where that is more.
	minConnections = 100
	// refusalInterval is the shortest time between two log lines on connections that are refused.
	refusalInterval = time.Minute
)

// boundedListener closes connections beyond a limit at once, before TLS and HTTP/2, so that the client connects to
// another replica or tries again later.
type boundedListener struct {
	net.Listener

	server *Server
	limit  int

	mu      sync.Mutex
	open    int
	refused int       // since the last log line
	logged  time.Time // when that was
}

// bounded returns a listener of at most as many connections as the server may have.
func (s *Server) bounded(inner net.Listener) *boundedListener {
	half := min(max(s.options.MaxStreams, minConnections/2), 1<<30)
	return &boundedListener{Listener: inner, server: s, limit: 2 * half}
}

// Accept returns the next connection within the limit.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if !l.take() {
			_ = inner.Close() // There is nothing to be done about a failure.
			continue
		}
		one := &connection{Conn: inner, release: sync.OnceFunc(l.release)}
		one.remote = &remoteAddr{Addr: inner.RemoteAddr(), connection: one}
		return one, nil
	}
}

// take counts a connection unless there are too many.
func (l *boundedListener) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open < l.limit {
		l.open++
		return true
	}
	l.refused++
	if now := time.Now(); now.Sub(l.logged) >= refusalInterval {
		l.server.publisher.options.Logger.Warn("xDS connections are refused: there are too many",
			"limit", l.limit, "refused", l.refused)
		l.refused, l.logged = 0, now
	}
	return false
}

func (l *boundedListener) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
}

// connection is a connection of a client. It is counted until it is closed.
type connection struct {
	net.Conn

	remote  *remoteAddr
	release func()
}

// remoteAddr is the address of a client, by which its streams find their connection: gRPC gives them nothing else that
// belongs to it, with and without TLS.
type remoteAddr struct {
	net.Addr

	connection *connection
}

// RemoteAddr returns the client's address, a *remoteAddr.
func (c *connection) RemoteAddr() net.Addr { return c.remote }

// Close closes the connection.
func (c *connection) Close() error {
	c.release()
	return c.Conn.Close()
}

// lingerer is a connection whose SO_LINGER can be set, such as *net.TCPConn.
type lingerer interface {
	SetLinger(seconds int) error
}

// abort closes the connection without waiting for the client to take what was written to it.
func (c *connection) abort() {
	if lingers, ok := c.Conn.(lingerer); ok {
		_ = lingers.SetLinger(0) // If it fails, the kernel keeps what was written for a while.
	}
	_ = c.Close()
}

// connectionOf returns the connection of a stream; nil if its listener is another one.
func connectionOf(ctx context.Context) *connection {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	if remote, ok := from.Addr.(*remoteAddr); ok {
		return remote.connection
	}
	return nil
}

// endOverdue ends the streams whose clients do not read, with their connections, until ctx ends. gRPC keeps the
// responses of a stream that has ended until the client has read them or the connection is closed.
func (s *Server) endOverdue(ctx context.Context) {
	ticker := time.NewTicker(sendTimeout / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, one := range s.snapshot() {
			if !one.deliveries.overdue() {
				continue
			}
			s.publisher.options.Meter.Overdue()
			one.cancel(status.Error(codes.DeadlineExceeded, "the client does not read"))
			if one.connection != nil {
				one.connection.abort()
			}
		}
	}
}
