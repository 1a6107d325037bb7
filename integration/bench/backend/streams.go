package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

// streams serves the protocol of package wire by TCP and UDP on one port, in one thread.
type streams struct {
	poll             *wire.Poll
	listener, packet int
	connections      map[int]*connection // by descriptor
	buffer           []byte
	block            []byte
	datagrams        *wire.Datagrams
}

// connection is the state of an accepted connection.
type connection struct {
	// kind is its first byte; 0 if there was none yet.
	kind byte
	// owed is the number of bytes of a download that are still to be sent, had that of the bytes of an upload's block.
	owed, had int
	// full is set while the socket has no room for more of a download.
	full bool
	// answered is set when the only answer of a connection was sent.
	answered bool
}

// serveStreams serves until the context is over.
func serveStreams(ctx context.Context, address netip.AddrPort) error {
	s, stop, err := newStreams(ctx, address)
	if err != nil {
		return err
	}
	defer stop()
	for ctx.Err() == nil {
		events, err := s.poll.Wait(0)
		if err == nil && len(events) == 0 {
			err = s.poll.Sleep()
		}
		if err != nil {
			return err
		}
		for _, event := range events {
			if err := s.handle(int(event.Fd), event.Events); err != nil {
				return err
			}
		}
	}
	return nil
}

// newStreams opens the sockets. The end of the context is an event, too.
func newStreams(ctx context.Context, address netip.AddrPort) (*streams, func(), error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", address.String())
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = listener.Close() }() // The file is a duplicate.
	packet, err := new(net.ListenConfig).ListenPacket(ctx, "udp4", listener.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = packet.Close() }()
	var files []*os.File
	for _, socket := range []interface{ File() (*os.File, error) }{listener.(*net.TCPListener), packet.(*net.UDPConn)} {
		file, err := socket.File()
		if err != nil {
			return nil, nil, err
		}
		files = append(files, file)
	}
	over, ended, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	files = append(files, over)
	poll, err := wire.NewPoll()
	if err != nil {
		return nil, nil, err
	}
	s := &streams{
		poll: poll, listener: int(files[0].Fd()), packet: int(files[1].Fd()), connections: map[int]*connection{},
		buffer: make([]byte, 64<<10), block: bytes.Repeat([]byte("x"), 256<<10), datagrams: new(wire.Datagrams),
	}
	for _, file := range files {
		descriptor := int(file.Fd()) // It is blocking from now on.
		if err := errors.Join(unix.SetNonblock(descriptor, true), poll.Add(descriptor, descriptor, unix.EPOLLIN)); err != nil {
			return nil, nil, err
		}
	}
	unwatch := context.AfterFunc(ctx, func() { _ = ended.Close() })
	return s, func() {
		unwatch()
		for descriptor := range s.connections {
			_ = unix.Close(descriptor)
		}
		for _, file := range append(files, ended) {
			_ = file.Close()
		}
		poll.Close()
	}, nil
}

// handle processes the events of a socket.
func (s *streams) handle(descriptor int, events uint32) error {
	switch descriptor {
	case s.listener:
		return s.accept()
	case s.packet:
		if _, err := s.datagrams.Return(s.packet); err != nil {
			return fmt.Errorf("datagrams: %w", err)
		}
		return nil
	}
	c := s.connections[descriptor]
	if c == nil {
		return nil
	}
	var err error
	if events&unix.EPOLLOUT != 0 {
		err = s.send(descriptor, c)
	}
	if err == nil && events&^unix.EPOLLOUT != 0 {
		err = s.read(descriptor, c)
	}
	if err != nil { // The end, or a failure of this connection: the client notices.
		delete(s.connections, descriptor)
		_ = unix.Close(descriptor)
	}
	return nil
}

// accept accepts one connection; for others there is another event.
func (s *streams) accept() error {
	descriptor, err := wire.Accept(s.listener)
	if err != nil || descriptor < 0 {
		return err
	}
	s.connections[descriptor] = &connection{}
	if err := unix.SetsockoptInt(descriptor, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	return s.poll.Add(descriptor, descriptor, unix.EPOLLIN)
}

// read reads once from a connection, and answers.
func (s *streams) read(descriptor int, c *connection) error {
	if c.kind == wire.Upload {
		n, err := wire.Discard(descriptor, wire.Block)
		if err != nil || n == 0 {
			return err
		}
		return s.acknowledge(descriptor, c, n)
	}
	n, err := wire.Read(descriptor, s.buffer)
	if err != nil || n == 0 {
		return err
	}
	text := s.buffer[:n]
	if c.kind == 0 {
		c.kind, text = text[0], text[1:]
	}
	switch c.kind {
	case wire.Echo:
		return write(descriptor, text)
	case wire.Upload:
		return s.acknowledge(descriptor, c, len(text))
	case wire.Download:
		c.owed += len(text) * wire.Block
		return s.send(descriptor, c)
	}
	if c.answered {
		return nil
	}
	c.answered = true
	if err := write(descriptor, []byte{wire.Acknowledgment}); err != nil {
		return err
	}
	return unix.Shutdown(descriptor, unix.SHUT_WR)
}

// acknowledge counts n bytes of an upload, and acknowledges its blocks.
func (s *streams) acknowledge(descriptor int, c *connection, n int) error {
	for c.had += n; c.had >= wire.Block; c.had -= wire.Block {
		if err := write(descriptor, []byte{wire.Acknowledgment}); err != nil {
			return err
		}
	}
	return nil
}

// send sends what is owed as long as there is room.
func (s *streams) send(descriptor int, c *connection) error {
	for c.owed > 0 {
		n, err := wire.Write(descriptor, s.block[:min(c.owed, len(s.block))])
		if err != nil {
			return err
		}
		c.owed -= n
		if n == 0 {
			break
		}
	}
	if full := c.owed > 0; full != c.full {
		c.full = full
		kinds := uint32(unix.EPOLLIN)
		if full {
			kinds |= unix.EPOLLOUT
		}
		return s.poll.Change(descriptor, descriptor, kinds)
	}
	return nil
}

// write writes a short answer, for which there is always room.
func write(descriptor int, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	n, err := wire.Write(descriptor, text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return err
}
