// Package datagram relays the datagrams of UDP between the clients of an entrypoint and the endpoints of services.
//
// A [Server] serves the sockets of one entrypoint. The first datagram of a client begins a session: the current
// [Route] of the [Router] opens it at its [Service], which chooses the endpoint, and a socket is connected to that. All
// datagrams of the same source (address and port) that come to the same local address belong to the session, and what
// the endpoint sends is sent to the client from the address that the client has sent to. [Pool] is the service of one
// load balancer, [Weighted] divides sessions among services, and [Dialer] is the transport of the pools. When a session
// is over the [Observer] gets a [Record].
//
// # Sessions
//
// A session ends when it was idle in both directions for the time-out, when the endpoint has sent as many datagrams as
// the service expects, when the endpoint refuses a datagram, when its connections are closed at the end of the drain
// time, or at the end of a shutdown. Changes of routes and of endpoints are for new sessions alone.
//
// A datagram is refused when ICMP says that nothing listens on the port, or that there is no way to the endpoint. It
// counts as a failed connect (outlier detection). The client's last datagram is kept, up to 2 KiB of it, until the
// endpoint sends one; when it was refused, it goes to another endpoint, and what the client sends later goes there too.
//
// When there are as many sessions as allowed, the one that was idle for the longest time makes room for the next.
// Sessions whose client has sent nothing after an answer come first, unless they are less than a quarter of all: the
// source of their datagrams may be forged, and a flood of single ones must not end the sessions of others. Each socket
// ends sessions of its own. The package sends nothing to a client but what its endpoint sends, so it amplifies no more
// than the endpoint does.
//
// # Hand-over
//
// Another process can go on with the sockets and sessions of a server, on Linux. [Server.Park] has nothing read any
// more, and [Server.Handed] returns the sessions with their connected sockets. [Server.Adopt] takes them over in the
// other process, and [Server.Leave] forgets them here; [Server.Unpark] reads on where that process does not serve.
//
// # Linux
//
// Each socket of the entrypoint has a goroutine of its own, which owns the sessions of the clients that the kernel has
// assigned to the socket (SO_REUSEPORT): no datagram takes a lock. It waits for its socket and those of its sessions in
// one epoll set, reads and writes in batches (recvmmsg, sendmmsg), and joins and splits datagrams of equal size where
// the kernel can (UDP_GRO, UDP_SEGMENT). Steady traffic allocates nothing. The buffers of a socket are 2 MiB of
// address space, of which only what was used is in memory.
//
// An idle session costs a descriptor, a local port and about 4.5 KiB: 0.9 KiB here, the rest in the kernel. The local
// ports that the kernel gives out are some 28,000 in all (net.ipv4.ip_local_port_range), however many endpoints there
// are.
//
// Other systems read and write datagrams one by one, with a goroutine per session, and let the system choose the
// source address of answers.
package datagram
