package entrypoint

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"strings"
	"time"
)

// maxHello bounds the bytes, record headers included, that are read of a ClientHello. One with keys for ML-KEM has
// about 2 KiB; crypto/tls takes no more than 64 KiB.
const maxHello = 72 << 10

var (
	errHello    = errors.New("the ClientHello has been read")
	errNoWrites = errors.New("nothing is written before the ClientHello is known")
	// errLongOne begins as the errors of crypto/tls about what a client sends: metrics count it among those.
	errLongOne = errors.New("tls: the ClientHello is too large")
)

// clientHello is what a client offers at the beginning of TLS (RFC 8446, section 4.1.2): the SNI in lower case without
// a final dot, empty where it sends none, and the names in ALPN, in its order.
type clientHello struct {
	serverName string
	protocols  []string
}

// readHello reads the ClientHello of a connection, over as many records and segments as it has, and leaves its bytes to
// be read again. A message that crypto/tls cannot parse is no error: the handshake of the server that gets the
// connection reports it. Errors count as those of a handshake.
func (e *Entrypoint) readHello(ctx context.Context, c *connection) (clientHello, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(e.settings.opening)); err != nil {
		return clientHello{}, err
	}
	var hello clientHello
	tee := &teeConn{connection: c}
	tee.read.Grow(firstBytes)
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			hello = clientHello{serverName: serverName(info), protocols: info.SupportedProtos}
			return nil, errHello
		},
	}
	// The deadline limits it. A context that may end costs a goroutine.
	_ = tls.Server(tee, config).HandshakeContext(context.WithoutCancel(ctx))
	c.replay = append(tee.read.Bytes(), c.replay...)
	if counter := e.deps.Handshakes; tee.err != nil && counter != nil {
		counter.HandshakeFailed(tee.err)
	}
	return hello, tee.err
}

// serverName returns the SNI of a ClientHello in the form in which names are compared.
func serverName(hello *tls.ClientHelloInfo) string {
	return strings.TrimSuffix(strings.ToLower(hello.ServerName), ".")
}

// teeConn keeps what is read from a connection, and writes nothing.
type teeConn struct {
	*connection
	read bytes.Buffer
	// err is why reading failed.
	err error
}

// Read reads from the connection, up to maxHello in all.
func (t *teeConn) Read(p []byte) (int, error) {
	p = p[:min(len(p), maxHello-t.read.Len())]
	if len(p) == 0 {
		t.err = errLongOne
		return 0, t.err
	}
	n, err := t.connection.Read(p)
	t.read.Write(p[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}

// Write drops what crypto/tls says, which is an alert.
func (t *teeConn) Write([]byte) (int, error) { return 0, errNoWrites }

// Close leaves the connection open.
func (t *teeConn) Close() error { return nil }
