//go:build !unix

package server

import "syscall"

// readNow reads nothing: this system has no suitable call.
func readNow(syscall.RawConn, []byte) int { return 0 }

// hasMore reports nothing, for the same reason.
func hasMore(syscall.RawConn) bool { return false }

// writable reports that no descriptor is known to take bytes without waiting.
func writable(syscall.RawConn) bool { return false }
