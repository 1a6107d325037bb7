package handover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// network is that of the socket: connections that keep packets apart.
const network = "unixpacket"

// maxPathBytes is the length of the longest path: one of 108 bytes fits in an address, and a server binds its socket
// with its PID as suffix at first.
const maxPathBytes = 100

// checkPath returns why a path cannot be that of the socket: it must be absolute, and have at most maxPathBytes. Files
// are not looked at.
func checkPath(path string) error {
	if err := supported(); err != nil {
		return err
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is no absolute path", path)
	}
	if filepath.Clean(path) != path { // A link before .. leads to another directory than the one that is checked.
		return fmt.Errorf("%q has ., .. or an empty part; the path without them is %q", path, filepath.Clean(path))
	}
	if len(path) > maxPathBytes {
		return fmt.Errorf("%q has %d bytes, more than %d", path, len(path), maxPathBytes)
	}
	return nil
}

// checkPlace returns why the path, or its directory, cannot be used.
func checkPlace(path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if err := checkDirectory(filepath.Dir(path)); err != nil {
		return fmt.Errorf("its directory: %w", err)
	}
	if file, err := os.Lstat(path); err == nil && file.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is no socket", path)
	}
	return nil
}

// dial connects with the process that listens on a path. The error is ErrNoPredecessor where there is none.
func dial(ctx context.Context, path string, within time.Duration) (*net.UnixConn, credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, credentials{}, fmt.Errorf("%w on %s", ErrNoPredecessor, path)
	}
	if err != nil {
		return nil, credentials{}, err
	}
	unix := conn.(*net.UnixConn)
	of, err := credentialsOf(unix)
	if err != nil {
		_ = unix.Close()
		return nil, credentials{}, err
	}
	return unix, of, nil
}

// admit returns why a process of a user is not trusted.
func admit(uid int) error {
	if own := os.Geteuid(); uid != own {
		return fmt.Errorf("the other process belongs to the user %d, this one to %d", uid, own)
	}
	return nil
}
