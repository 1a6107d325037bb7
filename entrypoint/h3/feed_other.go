//go:build !linux

package h3

import (
	"errors"
	"net"
)

// feedsSupported says that another process may read the socket.
const feedsSupported = false

func openFeed() (source, sink *net.UnixConn, err error) { return nil, nil, errors.ErrUnsupported }

func sendPacket(uintptr, []byte) error { return errors.ErrUnsupported }

func noRoom(error) bool { return false }
