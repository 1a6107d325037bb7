//go:build !linux

package handover

import (
	"errors"
	"fmt"
	"net"
	"runtime"
)

// supported returns why sockets cannot be handed over on this system.
func supported() error {
	return fmt.Errorf("sockets are not handed over on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// credentials are those of a process at the other end of a connection.
type credentials struct{ pid, uid int }

func credentialsOf(*net.UnixConn) (credentials, error) { return credentials{}, supported() }

func checkDirectory(string) error { return supported() }

func controlBytes(int) int { return 0 }

func rights([]int) []byte { return nil }

func truncated(int) bool { return false }

func descriptorsOf([]byte, int) ([]int, error) { return nil, supported() }

func closeDescriptors([]int) {}
