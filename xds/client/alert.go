package client

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
)

// alertTimeout is how long the alert of a server may take after writing has failed.
const alertTimeout = time.Second

// alerting are credentials of TLS whose connections name the alert of a server. With TLS 1.3 a server refuses a
// client's certificate after the client's handshake: what the client writes then fails with a broken pipe, while the
// reason waits to be read.
type alerting struct {
	credentials.TransportCredentials
}

// ClientHandshake implements credentials.TransportCredentials.
func (a alerting) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (
	net.Conn, credentials.AuthInfo, error,
) {
	secured, info, err := a.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	return &alertedConn{Conn: secured}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (a alerting) Clone() credentials.TransportCredentials {
	return alerting{a.TransportCredentials.Clone()}
}

// alertedConn is a connection with TLS.
type alertedConn struct {
	net.Conn

	// answered is set when something was read: gRPC reads what follows itself, also after it could not write.
	answered atomic.Bool
}

// Read implements net.Conn.
func (c *alertedConn) Read(content []byte) (int, error) {
	read, err := c.Conn.Read(content)
	if read > 0 {
		c.answered.Store(true)
	}
	return read, err
}

// Write writes. It fails with the alert of the server if that is its first answer.
func (c *alertedConn) Write(content []byte) (int, error) {
	written, err := c.Conn.Write(content)
	if err == nil || c.answered.Load() {
		return written, err
	}
	return written, c.cause(err)
}

// cause reads until the alert of the server, and returns it, or the error of writing if there is none. The connection
// is not usable any more.
func (c *alertedConn) cause(failed error) error {
	err := c.SetReadDeadline(time.Now().Add(alertTimeout))
	for dropped := make([]byte, 4<<10); err == nil; {
		_, err = c.Conn.Read(dropped)
	}
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" {
		return err
	}
	return failed
}
