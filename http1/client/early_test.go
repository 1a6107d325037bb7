//go:build unix

package client_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

// TestHeadsThatDoNotFit sends a request without a body whose head is more than the connection takes at once.
func TestHeadsThatDoNotFit(t *testing.T) {
	const size = 500_000
	got := make(chan int, 1)
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		got <- len(conn.Head())
		conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	upstream := testUpstream(t, endpoint.Address(), dialled(func(conn net.Conn) error {
		// As large as outside of this machine.
		return conn.(*net.TCPConn).SetWriteBuffer(44 << 10)
	}))
	r := testRequest(t, "GET", endpoint.Address(), nil)
	r.Header.Set("Cookie", strings.Repeat("c", size))
	if answer := take(upstream.RoundTrip(r)); answer.Body != "ok" {
		t.Errorf("%+v", answer)
	}
	if n := http1test.Receive(t, got, "the head"); n < size {
		t.Errorf("a head of %d bytes came", n)
	}
}

// TestResponsesBeforeRequests answers before the body has come, which then comes as a whole. An endpoint that has not
// waited for it may take it for the next request, so that no other request may use the connection.
func TestResponsesBeforeRequests(t *testing.T) {
	const body = "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n"
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		conn.Head()
		conn.Say("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nn")
		_, _ = conn.R.Peek(len(body))
		conn.Say("o")
		if head := conn.Head(); head != "" {
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
		}
		_, _ = conn.R.ReadByte()
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	source, writer := io.Pipe()
	r := testRequest(t, "POST", endpoint.Address(), source)
	r.ContentLength = int64(len(body))
	var call client.RoundTrip
	response, err := upstream.Do(&call, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(writer, body); err != nil {
		t.Error(err)
	}
	http1test.Discard(writer)
	if got := take(response, nil); got.Body != "no" {
		t.Errorf("got %+v", got)
	}
	if n := upstream.Idle(); n != 0 {
		t.Errorf("%d connections are kept", n)
	}
}

// TestLargeHeadsAreRepeated meets an idle connection that is closed as soon as a request begins to come, with a head
// that is more than TLS writes without waiting.
func TestLargeHeadsAreRepeated(t *testing.T) {
	certificate := secureEndpoint(t, false, http.NotFoundHandler())
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
		secure := secured(conn.Conn, certificate.TLS)
		secure.Head()
		secure.Say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + map[bool]string{true: "old", false: "new"}[number == 1])
		if number == 1 {
			_, _ = conn.Conn.Read(make([]byte, 1))
			return
		}
		secure.Head()
	})
	upstream := testUpstream(t, endpoint.Address(), trusting(certificate))
	for _, want := range []string{"old", "new"} {
		r := testRequest(t, "GET", "example.com", nil)
		r.Header.Set("Cookie", strings.Repeat("c", client.AtOnceBytes))
		if got := take(upstream.RoundTrip(r)); got.Body != want {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}

// cutting is a connection that holds back the last bytes of what is written, once hold is set.
type cutting struct {
	net.Conn
	hold bool
	held []byte
}

func (c *cutting) Write(p []byte) (int, error) {
	if !c.hold {
		return c.Conn.Write(p)
	}
	at := len(p) - 3
	c.held = append(c.held, p[at:]...)
	if _, err := c.Conn.Write(p[:at]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// TestPartOfSurplusWithinTLS leaves a part of a record on an idle connection, of which TLS shows nothing.
func TestPartOfSurplusWithinTLS(t *testing.T) {
	certificate := secureEndpoint(t, false, http.NotFoundHandler())
	next := make(chan struct{})
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
		below := &cutting{Conn: conn.Conn}
		secure := secured(below, certificate.TLS)
		secure.Head()
		if number > 1 {
			secure.Say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine")
			return
		}
		secure.Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		<-next
		below.hold = true
		secure.Say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
		if secure.Head() != "" {
			_, _ = conn.Conn.Write(below.held)
			secure.Head()
		}
	})
	var conn net.Conn
	upstream := testUpstream(t, endpoint.Address(), func(config *client.Config) {
		trusting(certificate)(config)
		dialled(func(made net.Conn) error { conn = made; return nil })(config)
	})
	if got := take(upstream.RoundTrip(testRequest(t, "GET", "example.com", nil))); got.Body != "ok" {
		t.Fatalf("%+v", got)
	}
	if !client.Quiet(upstream) {
		t.Fatal("the idle connection is not quiet")
	}
	first := conn.(*net.TCPConn)
	close(next)
	http1test.Eventually(t, "the part is there", func() bool { return hasMore(t, first) })
	if got := take(upstream.RoundTrip(testRequest(t, "GET", "example.com", nil))); got.Body != "mine" {
		t.Errorf("the next request got %+v", got)
	}
}

// hasMore reports whether a connection has something to read, without reading it.
func hasMore(t *testing.T, conn *net.TCPConn) bool {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		n, _, _ = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	return err == nil && n > 0
}
