// Package httpio names what readers, writers, connections and handlers of HTTP can do beyond the interfaces of the
// standard library, and holds the rule by which wrappers keep it.
//
// A reader may have what it needs at hand, a writer may move a body within the kernel, a connection may be closed in
// one direction. Such a capability is an optional method: its user makes a type assertion to an interface of this
// package, or by a function of this package that gives the answer for values without the method. A capability means the
// same everywhere.
//
// # Writers
//
// A wrapper of an [http.ResponseWriter]
//
//   - has Unwrap, so that [http.ResponseController] reaches deadlines and full duplex of the server's writer, unless it
//     answers for them itself;
//   - has FlushError, Flush and Hijack where it must see them, and calls the writer below through
//     [http.ResponseController];
//   - has ReadFrom (see [ReadFrom]) if it passes bodies on unchanged, and then [Splicer] as well: a wrapper with
//     ReadFrom that hides Splicer makes streams wait;
//   - has [Discarder] if it may drop the body that a handler writes. [Discards] looks through Unwrap, so others need
//     not forward it, nor [ConnResetter].
//
// # Bodies
//
// A wrapper of a request's body forwards [ReadyReader], so that small bodies are sent together with the head. Where the
// body below has no such method it returns 0 bytes without an error, or is of a type without the method.
//
// # Connections
//
// A wrapper of a [net.Conn] forwards [HalfCloser] and [LingerSetter], and has NetConn ([ConnUnwrapper]) only if its
// bytes are not those of the connection below, as TLS. One that has read ahead has [ReadAheader], and its
// [SpliceSource] is nil until those bytes are taken.
//
// # Handlers
//
// A handler, or a middleware, that has [NoRetainer] allows what is around it to use memory again.
//
// Package epoll reports events of connections that have no goroutine. Package intercept has a writer that follows these
// rules and withholds responses.
//
// In flow values of any type; out flow answers about them. The package never writes, reads or keeps anything by itself,
// and imports no other package of the module.
package httpio
