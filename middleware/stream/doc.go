// Package stream has the TCP middlewares: they admit connections, or close them, by the address of the client.
//
// [New] checks a definition and returns its [Step], which all routers with the middleware share. The state of the
// former step goes on in the new one as far as the definition allows, so that a reload frees no client of its limit. A
// step keeps state for as long as a client has connections, or owes time; the memory for it is bounded.
package stream
