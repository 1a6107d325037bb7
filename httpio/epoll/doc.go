// Package epoll reports events of connections without a goroutine for each: that the other end has closed one, which is
// seen without reading, or that a connection on which nothing is going on has become readable.
package epoll

// Conn is a connection that is watched by [Watch.Add].
type Conn interface {
	// PeerClosed is called when the other end has sent its last byte. With whole it takes none any more either.
	PeerClosed(whole bool)
}

// Reader is a connection that is watched by [Watch.AddReader].
type Reader interface {
	// Readable is called once, when a read would not wait: there are bytes, the end, or an error. It must not block.
	Readable()
}
