// Package wire reads and writes the frames of HTTP/2 (RFC 9113, section 4) and compresses heads (HPACK, RFC 7541),
// for both ends of a connection. It keeps no state of a connection, makes no system call, and has no requests.
//
// A frame is a [Header] and its payload. Functions that begin with Append write a whole frame, or what is named, behind
// a slice. Values that are read come from payloads whose length the caller has, and are checked where RFC 9113 says how
// long they must be: errors name the code and the section.
package wire
