// Package h3 serves HTTP/3 (RFC 9114) with quic-go on one UDP socket of an entrypoint.
//
// A [Server] adds what the server of quic-go lacks: admission of a connection before its handshake, so that limits
// count TCP and QUIC together; GOAWAY on one connection, for clients that must come back; an end for connections that
// are idle or ignore GOAWAY; and limits for clients that reset requests or make the server hold more decoded heads than
// a budget allows. Handlers get requests as those of HTTP/2, with the state of TLS.
//
// # Connection identifiers
//
// A connection identifier has eight bytes: the generation of the process, one that authenticates the others, and six
// random ones. The generation is the same in all identifiers of a process, so that it links no two connections (RFC
// 9000, section 5.1).
//
// # Hand-over
//
// Two processes may have one socket, of which one reads at a time. By [Server.Park] that becomes another process,
// which has the keys of this one ([NewSuccessor]) and the next generation. It passes on the packets that have an
// identifier of this process, over a feed ([Server.Adopt]); this one writes to the socket itself. A feed connects the
// process that reads with one that drains, also where there have been others in between.
//
// # Addresses
//
// A client that has not proven its address gets three times what it has sent at most (RFC 9000, section 8.1). Above a
// rate of new connections, and where its address is close to a limit, a client must prove it first by a Retry packet,
// at the cost of a round trip; a token from an earlier connection saves that. The address of a request is that of the
// path on which its connection is at that time (RFC 9000, section 9).
//
// # Early data
//
// Without [Config.Allow0RTT] requests of early data (0-RTT) are not accepted. With it they reach the handler, which
// finds [crypto/tls.ConnectionState.HandshakeComplete] false, and are never accepted where options request a client
// certificate, because that is verified later.
package h3
