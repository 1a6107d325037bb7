package client_test

import (
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

// TestKeepAliveOfAge reads the options of a connection when it is young and when it has reached the age, and of a
// second one that is dialed after that.
func TestKeepAliveOfAge(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, n int) {
		conn.Head()
		if n == 1 {
			begun <- struct{}{}
			<-release
		}
		conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn.R)
	})
	conns := make(chan *net.TCPConn, 2)
	upstream := testUpstream(t, endpoint.Address(), func(config *client.Config) {
		config.KeepAlive = 30 * time.Second
		dialled(func(conn net.Conn) error {
			tcp := conn.(*net.TCPConn)
			conns <- tcp
			return tcp.SetKeepAlive(false)
		})(config)
	})
	send := func() {
		response, err := upstream.RoundTrip(testRequest(t, http.MethodGet, endpoint.Address(), nil))
		if err != nil {
			t.Error(err)
			return
		}
		_ = response.Body.Close()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		send()
	}()
	kept := []int{1, 30, 15, 9}
	busy := <-conns
	http1test.Receive(t, begun, "the request")
	if got := keepAliveOptions(t, busy); got[0] != 0 {
		t.Errorf("a young connection has %v", got)
	}
	client.Age(upstream)
	if got := keepAliveOptions(t, busy); !slices.Equal(got, kept) {
		t.Errorf("a connection of age that waits for its response has %v, want %v", got, kept)
	}
	send()
	idle := <-conns
	if got := keepAliveOptions(t, idle); got[0] != 0 {
		t.Errorf("a young idle connection has %v", got)
	}
	client.Age(upstream)
	if got := keepAliveOptions(t, idle); !slices.Equal(got, kept) {
		t.Errorf("an idle connection of age has %v, want %v", got, kept)
	}
	close(release)
	<-ended
}

// keepAliveOptions returns SO_KEEPALIVE, TCP_KEEPIDLE, TCP_KEEPINTVL and TCP_KEEPCNT of a connection.
func keepAliveOptions(t *testing.T, conn *net.TCPConn) (options []int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		for _, option := range [][2]int{
			{unix.SOL_SOCKET, unix.SO_KEEPALIVE},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL},
			{unix.IPPROTO_TCP, unix.TCP_KEEPCNT},
		} {
			value, _ := unix.GetsockoptInt(int(fd), option[0], option[1])
			options = append(options, value)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return options
}
