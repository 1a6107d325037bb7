// Package descriptors keeps file descriptors of the process in reserve, so that it can still be managed, read its files
// and check its endpoints when clients have taken all others.
//
// In flow new connections; out flows whether they may stay. The kernel gives a new descriptor the lowest free number:
// one that reaches into the reserve shows that nothing below it was free. So nothing is counted, and descriptors are
// free again as soon as they are closed.
//
// [Open] counts all of them, for the overload manager.
package descriptors

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// ErrReserved is the error of a connection that would take a descriptor of the reserve.
var ErrReserved = errors.New("only the file descriptors in reserve are left (descriptors.reserve)")

// share is the part of all descriptors that the reserve takes at most: one in so many.
const share = 4

// Limit says which descriptors are in reserve. A nil Limit keeps none.
type Limit struct {
	// first is the lowest number in reserve, end the one above the highest.
	first, end int
}

// New returns the limit that keeps so many descriptors in reserve, at most a quarter of what the process may open, as
// RLIMIT_NOFILE has it now. It is nil for a reserve of 0 or less, and where descriptors have no limit.
func New(reserve int) *Limit {
	end, ok := softLimit()
	reserve = min(reserve, end/share)
	if !ok || reserve <= 0 {
		return nil
	}
	return &Limit{first: end - reserve, end: end}
}

// Available returns how many descriptors the process may open beyond which there is only such a reserve; 0 where
// descriptors have no limit.
func Available(reserve int) int {
	end, ok := softLimit()
	if !ok {
		return 0
	}
	return end - New(reserve).Reserve()
}

// listed is how many names are read at a time.
const listed = 1000

// list counts the names in a directory, without the descriptor that reads it.
func list(directory string) (int, error) {
	reader, err := os.Open(directory)
	if err != nil {
		return 0, err
	}
	defer func() { _ = reader.Close() }()
	for count := -1; ; {
		names, err := reader.Readdirnames(listed)
		count += len(names)
		if errors.Is(err, io.EOF) {
			return max(count, 0), nil
		}
		if err != nil {
			return max(count, 0), err
		}
	}
}

// Reserve returns how many descriptors are in reserve.
func (l *Limit) Reserve() int {
	if l == nil {
		return 0
	}
	return l.end - l.first
}

// Admits reports whether the descriptor of a new connection is none of the reserve. A connection without a descriptor
// of its own is admitted.
func (l *Limit) Admits(conn syscall.Conn) bool {
	if l == nil {
		return true
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	return l.Control("", "", raw) == nil
}

// Reserved reports whether a new descriptor is one of the reserve.
func (l *Limit) Reserved(fd int) bool { return l != nil && fd >= l.first }

// Control is for [net.Dialer.Control]: it returns [ErrReserved] for a descriptor of the reserve.
func (l *Limit) Control(_, _ string, conn syscall.RawConn) error {
	if l == nil {
		return nil
	}
	reserved := false
	if err := conn.Control(func(fd uintptr) { reserved = l.Reserved(int(fd)) }); err != nil {
		return err
	}
	if reserved {
		return ErrReserved
	}
	return nil
}
