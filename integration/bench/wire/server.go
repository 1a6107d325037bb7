package wire

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
)

// Server serves the protocol of this package by TCP and UDP on one port, in one thread.
type Server struct {
	address          netip.AddrPort
	poll             *Poll
	listener, packet int
	// files are the sockets, and a pipe of which ended is the other end; closing that wakes the thread.
	files       []*os.File
	ended       *os.File
	connections map[int]*connection // by descriptor
	buffer      []byte
	block       []byte
	datagrams   *Datagrams
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

// Listen opens the sockets of a Server. Port 0 is any port that is free for TCP.
func Listen(ctx context.Context, address string) (*Server, error) {
	s := &Server{
		connections: map[int]*connection{}, buffer: make([]byte, 64<<10), block: bytes.Repeat([]byte("x"), 256<<10),
		datagrams: new(Datagrams),
	}
	err := s.listen(ctx, address)
	if err == nil {
		s.poll, err = NewPoll()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.listener, s.packet = int(s.files[0].Fd()), int(s.files[1].Fd())
	for _, file := range s.files {
		descriptor := int(file.Fd()) // It is blocking from now on.
		err := errors.Join(unix.SetNonblock(descriptor, true), s.poll.Add(descriptor, descriptor, unix.EPOLLIN))
		if err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// listen opens the sockets as files.
func (s *Server) listen(ctx context.Context, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", address)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // The file is a duplicate.
	s.address = listener.Addr().(*net.TCPAddr).AddrPort()
	packet, err := new(net.ListenConfig).ListenPacket(ctx, "udp4", s.address.String())
	if err != nil {
		return err
	}
	defer func() { _ = packet.Close() }()
	for _, socket := range []interface{ File() (*os.File, error) }{listener.(*net.TCPListener), packet.(*net.UDPConn)} {
		file, err := socket.File()
		if err != nil {
			return err
		}
		s.files = append(s.files, file)
	}
	over, ended, err := os.Pipe()
	if err != nil {
		return err
	}
	s.files, s.ended = append(s.files, over), ended
	return nil
}

// Address returns the address of both sockets.
func (s *Server) Address() netip.AddrPort { return s.address }

// Serve serves until the context is over, and closes the sockets and all connections.
func (s *Server) Serve(ctx context.Context) error {
	woken := make(chan struct{})
	wake := context.AfterFunc(ctx, func() {
		_ = s.ended.Close()
		close(woken)
	})
	defer func() {
		if !wake() {
			<-woken
		}
		s.close()
	}()
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

// close closes everything that is open.
func (s *Server) close() {
	for descriptor := range s.connections {
		_ = unix.Close(descriptor)
	}
	for _, file := range append(s.files, s.ended) {
		if file != nil {
			_ = file.Close()
		}
	}
	if s.poll != nil {
		s.poll.Close()
	}
}

// handle processes the events of a socket.
func (s *Server) handle(descriptor int, events uint32) error {
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
func (s *Server) accept() error {
	descriptor, err := Accept(s.listener)
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
func (s *Server) read(descriptor int, c *connection) error {
	if c.kind == Upload {
		n, err := Discard(descriptor, Block)
		if err != nil || n == 0 {
			return err
		}
		return s.acknowledge(descriptor, c, n)
	}
	n, err := Read(descriptor, s.buffer)
	if err != nil || n == 0 {
		return err
	}
	text := s.buffer[:n]
	if c.kind == 0 {
		c.kind, text = text[0], text[1:]
	}
	switch c.kind {
	case Echo:
		return write(descriptor, text)
	case Upload:
		return s.acknowledge(descriptor, c, len(text))
	case Download:
		c.owed += len(text) * Block
		return s.send(descriptor, c)
	}
	if c.answered {
		return nil
	}
	c.answered = true
	if err := write(descriptor, []byte{Acknowledgment}); err != nil {
		return err
	}
	return unix.Shutdown(descriptor, unix.SHUT_WR)
}

// acknowledge counts n bytes of an upload, and acknowledges its blocks.
func (s *Server) acknowledge(descriptor int, c *connection, n int) error {
	for c.had += n; c.had >= Block; c.had -= Block {
		if err := write(descriptor, []byte{Acknowledgment}); err != nil {
			return err
		}
	}
	return nil
}

// send sends what is owed as long as there is room.
func (s *Server) send(descriptor int, c *connection) error {
	for c.owed > 0 {
		n, err := Write(descriptor, s.block[:min(c.owed, len(s.block))])
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
	n, err := Write(descriptor, text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return err
}
