package wire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestHello gives the ClientHello to a server of crypto/tls.
func TestHello(t *testing.T) {
	hello, err := wire.Hello(t.Context(), "bench.test")
	if err != nil {
		t.Fatal(err)
	}
	client, server := net.Pipe()
	seen := errors.New("seen")
	name := ""
	go func() {
		_, _ = client.Write(hello)
		_, _ = io.Copy(io.Discard, client)
	}()
	err = tls.Server(server, &tls.Config{
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			name = info.ServerName
			return nil, seen
		},
	}).HandshakeContext(t.Context())
	_ = server.Close()
	if !errors.Is(err, seen) || name != "bench.test" {
		t.Errorf("server name %q, %v", name, err)
	}
}

// serving starts a server, and returns its address.
func serving(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server, err := wire.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server.Address().String()
}

// dial connects to a server.
func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return connection
}

func TestServer(t *testing.T) {
	address := serving(t)
	block := string(make([]byte, wire.Block))
	for _, test := range []struct {
		name, sent string
		length     int
		ends       bool
	}{
		{"echo", string(wire.Echo) + "hello", 5, false},
		{"once", string(wire.Once), 1, true},
		{"a ClientHello", "\x16\x03\x01", 1, true},
		{"download", string(wire.Download) + "xx", 2 * wire.Block, false},
		{"upload", string(wire.Upload) + block + block, 2, false},
		{"less than a block", string(wire.Upload) + block[1:], 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			connection := dial(t, "tcp", address)
			if _, err := io.WriteString(connection, test.sent); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(connection, make([]byte, test.length)); err != nil {
				t.Fatal(err)
			}
			if !test.ends { // The client ends the connection instead.
				if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
			}
			if rest, err := io.ReadAll(connection); err != nil || len(rest) > 0 {
				t.Errorf("%d bytes more, %v", len(rest), err)
			}
		})
	}
}

// TestServerReturnsDatagrams sends more datagrams than a batch holds, from several sockets.
func TestServerReturnsDatagrams(t *testing.T) {
	address := serving(t)
	var sockets []net.Conn
	for i := range 2 * wire.Batch {
		socket := dial(t, "udp", address)
		if _, err := fmt.Fprintf(socket, "datagram %d", i); err != nil {
			t.Fatal(err)
		}
		sockets = append(sockets, socket)
	}
	for i, socket := range sockets {
		got := make([]byte, 100)
		n, err := socket.Read(got)
		if want := fmt.Sprintf("datagram %d", i); err != nil || string(got[:n]) != want {
			t.Errorf("%q, %v, want %q", got[:n], err, want)
		}
	}
}
