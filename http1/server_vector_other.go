//go:build !linux

package http1

import (
	"errors"
	"syscall"
)

// vector is not available here.
type vector struct{}

func (v *vector) write(syscall.RawConn, [3][]byte) error { return errors.ErrUnsupported }

func (v *vector) able() bool { return false }
