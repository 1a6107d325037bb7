package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

// headLength is the length of the request head on each connection.
const headLength = 1 << 10

// idle opens connections, sends one request or byte on each, prints "ready", and holds them until the context or the
// time is over. Then it prints how many were still open.
func idle(ctx context.Context, o options, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, o.time)
	defer cancel()
	const field = "X-Padding: "
	request := o.request(field + "\r\n")
	request = o.request(field + strings.Repeat("p", headLength-len(request)) + "\r\n")
	var connections []*net.TCPConn
	defer func() {
		for _, connection := range connections {
			_ = connection.Close()
		}
	}()
	var got answer
	for range o.connections {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", o.address.String())
		if err != nil {
			return err
		}
		connections = append(connections, connection.(*net.TCPConn))
		switch {
		case o.stream:
			err = echo(connection)
		case o.multiplexed:
			err = exchangeHTTP2(ctx, o, connection)
		default:
			err = exchange(connection, request, &got)
		}
		if err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return err
	}
	<-ctx.Done()
	open := 0
	for _, connection := range connections {
		alive, err := quiet(connection, o.multiplexed)
		if err != nil {
			return err
		}
		if alive {
			open++
		}
	}
	_, err := fmt.Fprintf(stdout, "load open=%d\n", open)
	return err
}

// echo sends a byte by wire.Echo, and reads it.
func echo(connection net.Conn) error {
	text := []byte{wire.Echo, 'x'}
	if _, err := connection.Write(text); err != nil {
		return err
	}
	if _, err := io.ReadFull(connection, text[:1]); err != nil {
		return err
	}
	if text[0] != 'x' {
		return fmt.Errorf("the answer is %q", text[:1])
	}
	return nil
}

// exchange sends a request and reads its response.
func exchange(connection net.Conn, request []byte, got *answer) error {
	if _, err := connection.Write(request); err != nil {
		return err
	}
	for complete := false; !complete; {
		n, err := connection.Read(got.buffer())
		if err != nil {
			return err
		}
		if complete, err = got.add(n); err != nil {
			return err
		}
	}
	return nil
}

// quiet reports whether a connection is open, without unread data unless that is allowed: servers of HTTP/2 send PING.
func quiet(connection *net.TCPConn, unread bool) (bool, error) {
	raw, err := connection.SyscallConn()
	if err != nil {
		return false, err
	}
	alive := false
	err = raw.Read(func(descriptor uintptr) bool {
		n, _, err := unix.Recvfrom(int(descriptor), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		alive = err == unix.EAGAIN || err == nil && n > 0 && unread
		return true
	})
	return alive, err
}
