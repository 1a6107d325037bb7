// Package wire is what the load and the endpoint of rows for TCP and UDP have in common: a small protocol, and socket
// calls of which Go's scheduler is not informed, so that both need less CPU than the proxy between them.
//
// The first byte of a connection selects what the endpoint does:
//
//   - Echo: it returns every further byte.
//   - Download: it sends one block for each further byte.
//   - Upload: it acknowledges each block with one byte.
//   - any other, such as the first of a ClientHello: it answers one byte and ends the connection.
//
// Datagrams are returned as they are. All calls here are for one thread with sockets of IPv4.
package wire

const (
	// Echo is the first byte of connections for round trips.
	Echo = 'e'
	// Download is the first byte of connections for many bytes to the client.
	Download = 'd'
	// Upload is the first byte of connections for many bytes to the server.
	Upload = 'u'
	// Once is the first byte of connections with one short exchange.
	Once = 'o'
	// Acknowledgment is the byte that follows a block of an upload, and the answer to Once.
	Acknowledgment = 'a'
	// Block is the unit of downloads and uploads, in bytes.
	Block = 4 << 20
	// Batch is the number of datagrams that Datagrams receives and sends at a time.
	Batch = 64
)
