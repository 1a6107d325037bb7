//go:build !linux

package servicemanager

import "syscall"

// Store does nothing: there is no service manager that keeps sockets.
func (*Notifier) Store(string, string, syscall.Conn) {}

// Forget does nothing.
func (*Notifier) Forget(...string) {}
