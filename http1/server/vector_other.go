//go:build !linux

package server

import (
	"errors"
	"syscall"
)

// vector is not available here.
type vector struct{}

func (v *vector) write(syscall.RawConn, [3][]byte) (int, error) { return 0, errors.ErrUnsupported }

func (v *vector) writeLast(syscall.RawConn, []byte) (int, error) { return 0, errors.ErrUnsupported }

func (v *vector) able() bool { return false }
