package stream_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/sluiceproxy/sluice/certificate/spiffe/spiffetest"
	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestTLSClient ends the TLS of clients here: their ends and resets are passed on as those of plain ones.
func TestTLSClient(t *testing.T) {
	own := spiffetest.NewAuthority(t, "own.test")
	config := &tls.Config{Certificates: []tls.Certificate{own.Ordinary().TLS}}
	handshake := func(conn *net.TCPConn) *stream.Client {
		secure := tls.Server(conn, config)
		if err := secure.HandshakeContext(context.Background()); err != nil {
			t.Error(err)
		}
		return &stream.Client{Conn: secure}
	}
	address, conns := accepted(t)
	g := newRig(t, setup{servers: servers(address), transport: forEver(), wrap: handshake})
	dial := func(g *rig) *tls.Conn {
		client := tls.Client(g.dial(t), &tls.Config{RootCAs: own.Pool(), ServerName: "127.0.0.1"})
		if err := client.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return client
	}

	client := dial(g)
	server := receive(t, conns)
	exchange(t, client, "hello", "")
	expect(t, server, "hello")
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(server); err != nil || len(rest) > 0 {
		t.Errorf("read %q, %v", rest, err)
	}
	_, _ = io.WriteString(server, "the answer")
	_ = server.Close()
	if rest, err := io.ReadAll(client); err != nil || string(rest) != "the answer" {
		t.Errorf("read %q, %v", rest, err)
	}
	equal(t, "end", g.result(t).End, "client_eof")

	client = dial(g)
	server = receive(t, conns)
	exchange(t, client, "x", "")
	expect(t, server, "x")
	_ = httpio.Reset(client)
	resetBy(t, server)
	equal(t, "end", g.result(t).End, "client_reset")

	// A client for which there is no server sees no orderly end of TLS.
	g = newRig(t, setup{servers: servers(refusing(t)), wrap: handshake})
	client = dial(g)
	equal(t, "code", g.result(t).Code, telemetry.CodeUnreachable)
	resetBy(t, client)
}

// ahead is a connection of which a part has been read.
type ahead struct {
	*net.TCPConn
	bytes []byte
}

// ReadAhead returns that part once.
func (a *ahead) ReadAhead() []byte {
	bytes := a.bytes
	a.bytes = nil
	return bytes
}

// TestReadAhead has the bytes of a client come first by which its router was found.
func TestReadAhead(t *testing.T) {
	g := newRig(t, setup{
		servers: servers(listen(t, echo)), transport: forEver(),
		wrap: func(conn *net.TCPConn) *stream.Client {
			first := make([]byte, 3)
			if _, err := io.ReadFull(conn, first); err != nil {
				t.Error(err)
			}
			return &stream.Client{Conn: &ahead{conn, first}}
		},
	})
	client := g.dial(t)
	exchange(t, client, "hello", "hello")
	_ = client.Close()
	equal(t, "bytes", g.result(t).FromClient, 5)
}
