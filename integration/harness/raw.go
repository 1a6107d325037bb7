package harness

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// Raw is a connection on which the test writes bytes itself, with a timeout.
type Raw struct {
	net.Conn

	reader *bufio.Reader
	t      testing.TB
}

// Dial connects to an address. The connection is closed when the test ends.
func Dial(t testing.TB, address string) *Raw {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	return &Raw{connection, bufio.NewReader(connection), t}
}

// RoundTrip writes bytes and reads one response to GET; the connection stays open. The error is why there is none.
func (r *Raw) RoundTrip(bytes string) (Response, error) {
	if _, err := io.WriteString(r.Conn, bytes); err != nil {
		return Response{}, err
	}
	return r.Response()
}

// Response reads another response.
func (r *Raw) Response() (Response, error) {
	response, err := http.ReadResponse(r.reader, nil)
	if err != nil {
		return Response{}, err
	}
	text, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	return Response{Response: response, Text: string(text)}, err
}

// End closes the sending side, which servers of net/http treat as a disconnect.
func (r *Raw) End() {
	if tcp, ok := r.Conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite() // may be closed by the peer
	}
}

// Rest reads until the peer closes or resets the connection, which it must do.
func (r *Raw) Rest() string {
	r.t.Helper()
	rest, err := io.ReadAll(r.reader)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // not wrapped by Read
		r.t.Errorf("the connection stays open: %v", err)
	}
	return string(rest)
}
