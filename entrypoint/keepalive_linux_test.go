package entrypoint_test

import (
	"context"
	"net"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

// TestKeepAlive reads the options of an accepted connection.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	options := make(chan []int, 1)
	s := startStreams(t, nil, tcp.NeedsUnread, func(tcp.Stage, *rule.Connection) tcp.Stream {
		return accepted(func(conn net.Conn) {
			raw, err := conn.(syscall.Conn).SyscallConn()
			if err != nil {
				t.Error(err)
				return
			}
			var got []int
			_ = raw.Control(func(fd uintptr) {
				for _, option := range [][2]int{
					{unix.SOL_SOCKET, unix.SO_KEEPALIVE},
					{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
					{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL},
					{unix.IPPROTO_TCP, unix.TCP_KEEPCNT},
				} {
					value, _ := unix.GetsockoptInt(int(fd), option[0], option[1])
					got = append(got, value)
				}
			})
			options <- got
		})
	})
	_ = s.dial()
	if got, want := <-options, []int{1, 15, 15, 9}; !slices.Equal(got, want) {
		t.Errorf("SO_KEEPALIVE, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT are %v, want %v", got, want)
	}
	s.stop()
	s.wait()
}

// accepted is a TCP router that looks at a connection.
type accepted func(conn net.Conn)

func (look accepted) ServeStream(_ context.Context, in *tcp.Incoming, done func()) {
	look(in.Conn)
	done()
}
