package server

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// vector writes pieces of memory with one call of the system.
type vector struct {
	pieces  [3][]byte
	attempt func(fd uintptr) bool
	err     error
	// last says that the connection is closed right behind the pieces.
	last bool
}

// write writes pieces to a plain connection, and returns how many bytes of them were not written.
func (v *vector) write(conn syscall.RawConn, pieces [3][]byte) (unsent int, err error) {
	if v.attempt == nil {
		v.attempt = v.once
	}
	v.pieces, v.err = pieces, nil
	err = conn.Write(v.attempt)
	for _, piece := range v.pieces {
		unsent += len(piece)
	}
	v.pieces = [3][]byte{}
	if err != nil {
		return unsent, err
	}
	return unsent, v.err
}

// once writes until all is written or the descriptor has to be waited for.
func (v *vector) once(fd uintptr) bool {
	for {
		left := v.pieces[:0:3]
		for _, piece := range v.pieces {
			if len(piece) > 0 {
				left = append(left, piece)
			}
		}
		clear(v.pieces[len(left):])
		if len(left) == 0 {
			return true
		}
		var n int
		var err error
		if v.last { // The system holds the end back, which leaves in one segment with the FIN.
			n, err = unix.SendmsgBuffers(int(fd), left, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
		} else {
			n, err = unix.Writev(int(fd), left)
		}
		switch {
		case err == unix.EAGAIN:
			return false
		case err == unix.EINTR:
			continue
		case err != nil:
			v.err = os.NewSyscallError("writev", err)
			return true
		case n == 0:
			v.err = io.ErrUnexpectedEOF
			return true
		}
		for i := range left {
			used := min(n, len(left[i]))
			left[i] = left[i][used:]
			n -= used
		}
	}
}

// writeLast is write for one piece behind which the connection is closed right away.
func (v *vector) writeLast(conn syscall.RawConn, piece []byte) (unsent int, err error) {
	v.last = true
	return v.write(conn, [3][]byte{piece})
}

func (v *vector) able() bool { return true }
