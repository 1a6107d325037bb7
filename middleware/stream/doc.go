// Package stream has the TCP middlewares: they admit connections, or close them, by the address of the client.
package stream
