//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package entrypoint

import (
	"errors"
	"syscall"
)

// reusePort refuses to listen: a port that is not shared as the configuration says must not go unnoticed.
func reusePort(_, _ string, _ syscall.RawConn) error {
	return errors.New("reusePort is not supported on this operating system")
}
