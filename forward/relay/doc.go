// Package relay joins the connection of a client and the connection of a server until both directions have ended: the
// engine of TCP proxying, of TLS passthrough and of HTTP's upgrade.
//
// In flow two connections and the caller's limits ([Options]); out flows a [Result]: how many bytes each direction
// carried, which side ended first, and why the connection is over. The package dials, accepts and logs nothing.
//
// # Ends
//
// The end of one direction is passed on as such: after a FIN, or TLS's close_notify, of one side the other gets
// CloseWrite, and may go on sending for [Options.TerminationDelay]. A reset stays a reset: it is never turned into the
// clean end of a stream, not even where the kernel has reported it to the other direction. A side that must not take
// what it got for the whole stream, because bytes for it were lost, is reset too.
//
// # Copying
//
// Where a side is plain TCP ([httpio.SpliceSource], [httpio.SpliceSink] or [net.TCPConn]) its direction first waits for
// bytes, and takes a buffer only then. After several reads of 16 KiB or more in a row, and if the other side is plain
// TCP as well, the kernel moves the bytes with splice(2); the pipe goes back as soon as no more bytes are there. So an
// idle connection holds neither buffer nor pipe.
//
// A plain source of [Joined.Serve] that brings nothing for a while is parked: its goroutine ends, and begins again by
// an event of epoll(7). What is left of an idle connection is two descriptors and about 2 KiB of memory.
//
// A TLS connection can only be waited for by reading it, into a buffer of 2 KiB while it is idle, and of 32 KiB after a
// full one.
//
// Only Linux has splice(2) and distinguishes resets; elsewhere all is copied.
package relay
