//go:build !linux

package http1

import "syscall"

// goneWatch watches nothing here: a byte is read ahead instead.
type goneWatch struct{}

func (w *goneWatch) add(syscall.RawConn, *serverConn) (uint64, bool) { return 0, false }

func (w *goneWatch) remove(uint64) {}
