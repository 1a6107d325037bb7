// Package wire reads and writes the bytes of HTTP/1.1 messages (RFC 9112), for packages server and client.
//
// In flow bytes that came from a peer, and header maps that are to be sent; out flow heads with framing that has
// exactly one reading, decoded bodies, and bytes to send. The package does no input or output, starts nothing, and
// keeps nothing: its caller owns every buffer. What a peer could read in two ways is refused, never repaired.
//
// A head is copied once into one string. Names, values, method and target are substrings of it, so that a head costs
// one string, one map and one array of values, whatever it carries. Names are brought into net/http's canonical
// spelling inside the caller's buffer, before the copy.
//
// # What is refused
//
// Each reason is an [*Error] with the status that a server answers; a client treats it as a broken response.
//
//	bare LF, bare CR                          400  RFC 9112 section 2.2
//	invalid method                            400  RFC 9110 section 9.1
//	invalid target, fragment                  400  RFC 9112 section 3.2
//	userinfo in a target or Host              400  RFC 9110 section 4.2.4
//	invalid version                           400  RFC 9112 section 2.3
//	another major version                     505  RFC 9110 section 15.6.6
//	request line too long                     414  RFC 9112 section 3
//	head or one field too large, too many     431  RFC 6585 section 5
//	missing, repeated or invalid Host         400  RFC 9112 section 3.2
//	line that begins with a space (obs-fold)  400  RFC 9112 section 5.2
//	space before the colon                    400  RFC 9112 section 5.1
//	invalid name of a field                   400  RFC 9110 section 5.1
//	NUL or control character in a value       400  RFC 9110 section 5.5
//	Content-Length that is no plain number,
//	repeated, a list, or too long             400  RFC 9112 section 6.3
//	Content-Length with Transfer-Encoding     400  RFC 9112 section 6.3
//	Transfer-Encoding in HTTP/1.0             400  RFC 9112 section 6.1
//	Transfer-Encoding other than "chunked"    400  RFC 9112 section 6.1
//	invalid chunk size                        400  RFC 9112 section 7.1
//	invalid or endless chunk extensions       400  RFC 9112 section 7.1.1, CVE-2023-39326
//	chunk data without its CR LF              400  RFC 9112 section 7.1, CVE-2025-22871
//	trailer section too large                 431  RFC 6585 section 5
//	Trailer that announces framing fields     400  RFC 9110 section 6.5.1
//	invalid status line                       502  RFC 9112 section 4
package wire
