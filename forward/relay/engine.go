package relay

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/httpio/epoll"
)

const (
	// bufferBytes is read at once. A record of TLS (16 KiB) fits.
	bufferBytes = 32 << 10
	// smallBytes is what a connection holds that is waited for by reading it.
	smallBytes = 2 << 10
	// parkAfter is for how long a plain connection brings no bytes before its goroutine ends. It costs one deadline in
	// that time while there are bytes, and a new goroutine when there are some again. It may take twice as long. With two
	// seconds, as many connections that have just been opened hold their stacks that an idle one took 11 KiB, not 5.5.
	parkAfter = 500 * time.Millisecond
)

// DefaultTerminationDelay is the default of Traefik's terminationDelay. It cuts the answer to clients that end their
// direction with their request, as nc -N and rsh do, unless the answer begins and ends within it.
const DefaultTerminationDelay = 100 * time.Millisecond

// Options are limits of one connection, and what was read of it before.
type Options struct {
	// ReadAhead is what the caller has read of the client's bytes. It is sent first, before what the client's connection
	// itself has read ahead ([httpio.ReadAheader]).
	ReadAhead []byte
	// IdleTimeout ends a connection on which no byte was read or written in either direction. It is at most an eighth
	// late. 0 or less is none.
	IdleTimeout time.Duration
	// TerminationDelay is how long the second direction may go on after the orderly end of the first, however active it
	// is. 0 closes both at once, less than 0 is for ever. Use [DefaultTerminationDelay] where users have set nothing.
	TerminationDelay time.Duration
	// KeepAlive is the time between TCP keep-alive probes to the server, which begin when it has brought no bytes for
	// half a second: short connections are spared the system calls for it. 0 or less leaves the connection as it is.
	KeepAlive time.Duration
}

// Engine joins connections, and lends them buffers and pipes, which are recycled. The zero value is ready, and needs no
// closing: what is not used for a while is freed by the garbage collector. It must not be copied.
type Engine struct {
	// Reserve has no pipe take a descriptor in reserve: bytes are copied then. It is set before the first connection; nil
	// keeps none.
	Reserve *descriptors.Limit

	buffers, small sync.Pool
	pipes          pipes
	parked         epoll.Watch
	// parkAfter replaces the constant if it is above 0, for tests.
	parkAfter time.Duration
}

type (
	buffer      [bufferBytes]byte
	smallBuffer [smallBytes]byte
)

func (e *Engine) buffer() *buffer {
	if recycled, ok := e.buffers.Get().(*buffer); ok {
		return recycled
	}
	return new(buffer)
}

func (e *Engine) smallBuffer() *smallBuffer {
	if recycled, ok := e.small.Get().(*smallBuffer); ok {
		return recycled
	}
	return new(smallBuffer)
}

// Join prepares to pass on bytes between client and server until both directions have ended, a limit of the options is
// reached, or [Joined.Shutdown] is called.
//
// Beyond reading, writing and closing it uses what a connection can do: [httpio.HalfCloser] (without it both
// directions end together), [httpio.ReadAheader], [httpio.SpliceSource], [httpio.SpliceSink], and for resets
// [httpio.Reset]. The connections must not be used elsewhere, nor closed, which idle connections would not notice.
func (e *Engine) Join(client, server io.ReadWriteCloser, options Options) *Joined {
	return newJoined(e, client, server, &options)
}

// Run joins connections for callers that wait for the end. It parks nothing, so that closing one of the connections
// elsewhere ends both.
func (e *Engine) Run(ctx context.Context, client, server io.ReadWriteCloser, options Options) Result {
	j := newJoined(e, client, server, &options)
	ended := make(chan Result, 1)
	j.start(ctx, func(result Result) { ended <- result })
	return <-ended
}
