//go:build unix

package server

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// idleRead reads from a descriptor once it has something to say, into a buffer that is taken no earlier.
type idleRead struct {
	attempt func(fd uintptr) bool
	n       int
	err     error
}

func (r *idleRead) able() bool { return r.attempt != nil }

func (r *idleRead) init(c *serverConn) {
	if c.plain == nil {
		return
	}
	r.attempt = func(fd uintptr) bool {
		buf := c.server.pool.read()
		for {
			r.n, r.err = unix.Read(int(fd), buf[:])
			if r.err != unix.EINTR { //nolint:errorlint // errno
				break
			}
		}
		if r.err == unix.EAGAIN { //nolint:errorlint // errno
			c.server.pool.putRead(buf)
			return false
		}
		if r.n > 0 {
			c.readBuf, c.in = buf, buf[:]
		} else {
			c.server.pool.putRead(buf)
		}
		return true
	}
}

func (r *idleRead) read(conn syscall.RawConn) (int, error) {
	r.n, r.err = 0, nil
	err := conn.Read(r.attempt)
	switch {
	case err != nil:
		return 0, err
	case r.err != nil:
		return 0, os.NewSyscallError("read", r.err)
	case r.n <= 0:
		return 0, io.EOF
	}
	return r.n, nil
}
