// Package handover passes listening sockets and state from a running process to its successor, so that clients are not
// refused during an upgrade. What the sockets and the state are for is decided by its users.
//
// The running process has a [Server] on a Unix socket, its successor a [Client]. Both are of the same user, which
// SO_PEERCRED proves on both sides, and the directory of the socket must belong to this user and be writable for no
// other. Only Linux is supported; elsewhere everything fails with [errors.ErrUnsupported].
//
// # Sequence
//
// [Connect] gets duplicates of all sockets, and the state. That changes nothing for the running process: a socket whose
// duplicate is not read loses nothing. [Client.Announce] has the running process know something of its successor. When
// the successor is ready to serve, [Client.TakeOver] has the running process stop accepting and reading, and brings the
// sockets that it has opened meanwhile. Clients that come now wait in the queues of the kernel, which both processes
// hold. The successor begins to serve, publishes its own Server, and [Client.Confirm] ends the hand-over: the
// predecessor drains. Until then each failure of the successor has the running process serve on.
//
// # Protocol, version 1
//
// Messages are packets of SOCK_SEQPACKET, each a JSON object with a type and at most 64 KiB. Unknown members are
// ignored; an unknown type is an error. A packet has at most 64 descriptors, and the next one with descriptors follows
// its ack, since descriptors in flight count against the limits of the user.
//
//	successor -> predecessor     predecessor -> successor
//	hello {versions, release}    welcome {version, release}, or refuse {reason}
//	sockets {state: announced}   sockets {sockets} with descriptors, ack from the successor, ...; end
//	states                       state {state: {kind, version, part, last}}, ...; end
//	alive                        nothing; every five seconds until ready
//	ready                        sockets as above where some are new; yielded
//	serving                      bye
//
// sockets comes without a state at first, and again with each one that is announced. refuse ends the connection at any
// time; the process that has sent it goes on as before. A connection that ends without it means that the process has
// ended. On a connection of its own, upgrade is answered with started {pid}, and then done or failed {reason}.
package handover
