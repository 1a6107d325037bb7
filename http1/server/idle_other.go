//go:build !unix

package server

import (
	"errors"
	"syscall"
)

// idleRead does nothing here: connections wait with a buffer.
type idleRead struct{}

func (r *idleRead) able() bool { return false }

func (r *idleRead) init(*serverConn) {}

func (r *idleRead) read(syscall.RawConn) (int, error) { return 0, errors.ErrUnsupported }
