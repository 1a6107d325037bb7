//go:build !linux

package epoll

import "syscall"

// Watch watches nothing here.
type Watch struct{}

// Able is false.
func (w *Watch) Able() bool { return false }

// Add is never ok.
func (w *Watch) Add(syscall.RawConn, Conn) (ticket uint64, ok bool) { return 0, false }

// AddReader is never ok.
func (w *Watch) AddReader(syscall.RawConn, Reader) (ticket uint64, ok bool) { return 0, false }

// Remove does nothing.
func (w *Watch) Remove(uint64) {}
