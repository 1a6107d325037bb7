//go:build unix

package http1

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// readNow reads what a descriptor has; errors are for the next Read that waits to find.
func readNow(raw syscall.RawConn, p []byte) int {
	n := 0
	if raw.Control(func(fd uintptr) { n, _ = unix.Read(int(fd), p) }) != nil {
		return 0
	}
	return max(n, 0)
}
