//go:build unix

package client

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// probe reads and writes a connection without waiting. It is a connection itself, to lie below TLS: with only set, its
// Read doesn't wait either.
type probe struct {
	net.Conn
	raw  syscall.RawConn
	only bool

	// The calls of the system, as values that are made once.
	reading func(descriptor uintptr)
	writing func(descriptor uintptr) bool
	filling func(descriptor uintptr) bool
	cc      *clientConn
	bytes   []byte
	n       int
	err     error

	// records follows the records of the TLS above; nil without any.
	records *records
}

func newProbe(conn net.Conn, raw syscall.RawConn) *probe {
	p := &probe{Conn: conn, raw: raw}
	p.reading = func(descriptor uintptr) { p.n, p.err = unix.Read(int(descriptor), p.bytes) }
	p.writing = func(descriptor uintptr) bool {
		p.n, p.err = unix.Write(int(descriptor), p.bytes)
		return true
	}
	p.filling = p.fillOnce
	return p
}

// fill reads once into the buffer of a connection, which has none while there is nothing to read. Room must be there.
func (p *probe) fill(cc *clientConn) (int, error) {
	p.cc, p.n, p.err = cc, 0, nil
	err := p.raw.Read(p.filling)
	p.cc = nil
	switch {
	case err != nil:
		if operation, ok := errors.AsType[*net.OpError](err); ok {
			operation.Op = "read"
		}
		return 0, err
	case p.err != nil:
		err := os.NewSyscallError("read", p.err)
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: p.LocalAddr(), Addr: p.RemoteAddr(), Err: err}
	case p.n == 0:
		return 0, io.EOF
	}
	return p.n, nil
}

func (p *probe) fillOnce(descriptor uintptr) bool {
	cc := p.cc
	lent := cc.buffer == nil
	if lent {
		cc.borrow()
	}
	for {
		if p.n, p.err = unix.Read(int(descriptor), cc.buffer[cc.to:]); p.err != unix.EINTR { //nolint:errorlint // errno
			break
		}
	}
	cc.learn(p.err == nil)
	if p.err != unix.EAGAIN { //nolint:errorlint // errno
		return true
	}
	p.err = nil
	if lent {
		cc.recycle()
	}
	if cc.waiting != nil {
		cc.waiting()
	}
	return false
}

// Read reads what is there with only set, and otherwise waits.
func (p *probe) Read(b []byte) (int, error) {
	n, err := p.read(b)
	if p.records != nil {
		p.records.follow(b[:n])
	}
	return n, err
}

func (p *probe) read(b []byte) (int, error) {
	if !p.only {
		return p.Conn.Read(b)
	}
	p.bytes = b
	err := p.raw.Control(p.reading)
	p.bytes = nil
	switch {
	case err != nil:
		return 0, err
	case p.err == unix.EAGAIN || p.err == unix.EINTR: //nolint:errorlint // errno
		return 0, errNothingYet
	case p.err != nil:
		return 0, p.err
	case p.n == 0:
		return 0, net.ErrClosed
	}
	return p.n, nil
}

// quiet reports whether the connection is open and nothing is there to be read. A byte that was there is lost.
func (p *probe) quiet() bool {
	var one [1]byte
	p.only = true
	_, err := p.Read(one[:])
	p.only = false
	return err == errNothingYet //nolint:errorlint // as Read returns it
}

// writeNow writes as much as the system takes at once; less than all of b is no error.
func (p *probe) writeNow(b []byte) (int, error) {
	p.bytes = b
	err := p.raw.Write(p.writing)
	p.bytes = nil
	switch {
	case err != nil:
		return 0, err
	case p.err == unix.EAGAIN || p.err == unix.EINTR: //nolint:errorlint // errno
		return 0, nil
	case p.err != nil:
		return 0, &net.OpError{Op: "write", Net: "tcp", Addr: p.RemoteAddr(), Err: p.err}
	}
	return p.n, nil
}
