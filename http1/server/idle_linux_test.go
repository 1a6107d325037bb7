package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

// written is a connection that counts the Writes before its end.
type written struct {
	*net.TCPConn

	writes atomic.Int32
	closed atomic.Bool
}

func (w *written) Write(p []byte) (int, error) {
	if !w.closed.Load() {
		w.writes.Add(1)
	}
	return w.TCPConn.Write(p)
}

func (w *written) Close() error {
	w.closed.Store(true)
	return w.TCPConn.Close()
}

// fill writes into a socket until it takes nothing more.
func fill(t *testing.T, conn *net.TCPConn) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	http1test.Eventually(t, "the socket is full", func() bool {
		took := 0
		if err := raw.Control(func(fd uintptr) {
			for {
				n, err := unix.Write(int(fd), make([]byte, 64<<10))
				if err != nil {
					return
				}
				took += n
			}
		}); err != nil {
			t.Fatal(err)
		}
		return took == 0
	})
}

// TestServerCloseIdleSendsCloseNotify does so where the client reads. It writes nothing to one that does not, which
// would have to be waited for.
func TestServerCloseIdleSendsCloseNotify(t *testing.T) {
	t.Parallel()
	config := &tls.Config{Certificates: testCertificate(t), SessionTicketsDisabled: true, MinVersion: tls.VersionTLS12}
	for name, reads := range map[string]bool{"a client that reads": true, "a client that does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			raw, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer http1test.Discard(raw)
			accepted, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			conn := &written{TCPConn: accepted.(*net.TCPConn)}
			tested := &server.Server{Handler: http.HandlerFunc(hello)}
			over := make(chan struct{})
			go func() {
				defer close(over)
				secure := tls.Server(conn, config)
				if err := secure.HandshakeContext(context.Background()); err != nil {
					t.Error(err)
				}
				tested.ServeConn(context.Background(), secure)
			}()
			client := tls.Client(raw, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test's
			reader := bufio.NewReader(client)
			say(t, client, get)
			answer(t, reader)
			http1test.Eventually(t, "the connection is idle", func() bool { return server.Idle(tested) == 1 })
			if !reads {
				fill(t, conn.TCPConn)
			}
			before := conn.writes.Load()
			tested.CloseIdle(0)
			http1test.Receive(t, over, "the end of the connection")
			wrote := conn.writes.Load() - before
			if !reads {
				if wrote > 0 {
					t.Errorf("%d writes to a client that does not read", wrote)
				}
				return
			}
			if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) || wrote != 1 {
				t.Errorf("the end is %v after %d writes", err, wrote)
			}
		})
	}
}
