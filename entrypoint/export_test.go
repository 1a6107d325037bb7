package entrypoint

import (
	"io"
	"net"
	"net/http"
	"time"
)

// Begun returns how many connections have sent a first byte and no whole request.
func (e *Entrypoint) Begun() (begun int) {
	e.open.each(func(c *connection) {
		if upTo(opening)(c) && !upTo(silent)(c) {
			begun++
		}
	})
	return begun
}

// ServeHTTP1 handles a request as the server of HTTP/1.1 does.
func (e *Entrypoint) ServeHTTP1(w http.ResponseWriter, r *http.Request) { e.chain.serve(w, r) }

// ReadProxy reads a PROXY header, and returns what follows.
func ReadProxy(conn net.Conn, within time.Duration) (rest []byte, err error) {
	c := &connection{Conn: conn, local: conn.LocalAddr(), remote: conn.RemoteAddr()}
	e := &Entrypoint{settings: settings{opening: within, read: within}}
	err = e.readProxy(c)
	rest, _ = io.ReadAll(c)
	return rest, err
}

// Allowance returns how long a client of HTTP/3 may take for bytes of a body.
func Allowance(bytes int64) time.Duration { return allowance(bytes) }
