// Package epoll reports connections that the other end has closed, without reading them.
package epoll

// Conn is a connection that is watched.
type Conn interface {
	// PeerClosed is called when the other end has sent its last byte. With whole it takes none any more either.
	PeerClosed(whole bool)
}
