package traffic

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

// clientTLS accepts every certificate, and offers HTTP/1.1.
func clientTLS() *tls.Config {
	return &tls.Config{ServerName: host, InsecureSkipVerify: true} //nolint:gosec // The certificate may be generated.
}

// host is that of all requests.
const host = "any.test"

// Connection is a client's connection of HTTP/1.1. It repeats no request, unlike http.Transport.
type Connection struct {
	net.Conn

	reader *bufio.Reader
}

// Connect opens a connection, with TLS if it is to be secure.
func Connect(ctx context.Context, address string, secure bool) (*Connection, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return newConnection(conn, secure), nil
}

func newConnection(conn net.Conn, secure bool) *Connection {
	_ = conn.SetDeadline(time.Now().Add(timeout))
	if secure {
		conn = tls.Client(conn, clientTLS())
	}
	return &Connection{Conn: conn, reader: bufio.NewReaderSize(conn, 1<<10)}
}

// Get sends a request, and reports whether its response ends the connection. Another status than 200 is an error.
func (c *Connection) Get() (last bool, err error) {
	_ = c.SetDeadline(time.Now().Add(timeout))
	if _, err := io.WriteString(c, "GET /ok HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil {
		return false, err
	}
	return c.read()
}

// read reads a response, and reports whether it ends the connection.
func (c *Connection) read() (last bool, err error) {
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return false, err
	}
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	_ = response.Body.Close()
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status + ": " + body.String())
	}
	return response.Close, err
}

// piecewise is a connection whose first bytes are sent in pieces.
type piecewise struct {
	net.Conn

	pause func(time.Duration)
	sent  bool
}

// Write sends the bytes.
func (p *piecewise) Write(data []byte) (int, error) {
	if p.sent {
		return p.Conn.Write(data)
	}
	p.sent = true
	written := 0
	for piece := range slices.Chunk(data, len(data)/4+1) {
		n, err := p.Conn.Write(piece)
		if written += n; err != nil {
			return written, err
		}
		p.pause(100 * time.Millisecond)
	}
	return written, nil
}
