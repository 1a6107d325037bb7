//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package entrypoint

import (
	"errors"
	"os"
	"syscall"
)

// duplicate fails: only a socket of its own can be bound.
func duplicate(syscall.Conn) (*os.File, error) { return nil, errors.ErrUnsupported }
