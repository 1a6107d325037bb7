//go:build !linux

package entrypoint

import "net"

// keepAlive leaves the keep-alive of accepted connections to Go.
func keepAlive(*net.ListenConfig) {}
