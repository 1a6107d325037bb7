package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// Hello returns a ClientHello of TLS 1.3 with a server name, as crypto/tls sends it.
func Hello(ctx context.Context, host string) ([]byte, error) {
	var sent recorder
	client := tls.Client(&sent, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS13})
	if err := client.HandshakeContext(ctx); !errors.Is(err, errRecorded) {
		return nil, err
	}
	return sent.Bytes(), nil
}

// errRecorded ends the handshake after the ClientHello.
var errRecorded = errors.New("the ClientHello is complete")

// recorder is a connection that keeps what is written, and from which nothing can be read.
type recorder struct{ bytes.Buffer }

func (*recorder) Read([]byte) (int, error)         { return 0, errRecorded }
func (*recorder) Close() error                     { return nil }
func (*recorder) LocalAddr() net.Addr              { return nil }
func (*recorder) RemoteAddr() net.Addr             { return nil }
func (*recorder) SetDeadline(time.Time) error      { return nil }
func (*recorder) SetReadDeadline(time.Time) error  { return nil }
func (*recorder) SetWriteDeadline(time.Time) error { return nil }
