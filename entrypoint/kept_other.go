//go:build !linux

package entrypoint

import "syscall"

// kept is a socket that Sockets yields; it is the server's, and open as long as that serves.
type kept struct{ syscall.Conn }

// keep returns the socket.
func keep(socket syscall.Conn) (*kept, error) { return &kept{socket}, nil }

// close leaves the socket to the server.
func (*kept) close() {}
