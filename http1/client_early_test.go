package http1

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestHeadsThatDoNotFit sends a request without a body whose head is more than the connection takes at once.
func TestHeadsThatDoNotFit(t *testing.T) {
	const size = 500_000
	got := make(chan int, 1)
	endpoint := newRawEndpoint(t, func(conn *rawConn, _ int) {
		got <- len(conn.head())
		conn.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	upstream := testUpstream(t, endpoint.address(), func(config *UpstreamConfig) {
		dial := config.Dial
		config.Dial = func(ctx context.Context) (net.Conn, error) {
			conn, err := dial(ctx)
			if err == nil {
				// As large as outside of this machine.
				err = conn.(*net.TCPConn).SetWriteBuffer(44 << 10)
			}
			return conn, err
		}
	})
	r := testRequest(t, "GET", endpoint.address(), nil)
	r.Header.Set("Cookie", strings.Repeat("c", size))
	if answer := take(upstream.RoundTrip(r)); answer.Body != "ok" {
		t.Errorf("%+v", answer)
	}
	if n := arrives(t, got, "the head"); n < size {
		t.Errorf("a head of %d bytes came", n)
	}
}

// TestResponsesBeforeRequests answers before the body has come, which then comes as a whole. An endpoint that has not
// waited for it may take it for the next request, so that nobody else must use the connection.
func TestResponsesBeforeRequests(t *testing.T) {
	const body = "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n"
	endpoint := newRawEndpoint(t, func(conn *rawConn, _ int) {
		conn.head()
		conn.say("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nn")
		_, _ = conn.r.Peek(len(body))
		conn.say("o")
		if head := conn.head(); head != "" {
			conn.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
		}
		_, _ = conn.r.ReadByte()
	})
	upstream := testUpstream(t, endpoint.address(), nil)
	source, writer := io.Pipe()
	r := testRequest(t, "POST", endpoint.address(), source)
	r.ContentLength = int64(len(body))
	var call RoundTrip
	response, err := upstream.Do(&call, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(writer, body); err != nil {
		t.Error(err)
	}
	discard(writer)
	if got := take(response, nil); got.Body != "no" {
		t.Errorf("got %+v", got)
	}
	if n := idleConns(upstream); n != 0 {
		t.Errorf("%d connections are kept", n)
	}
}

// secured puts the server's end of TLS on a connection of an endpoint.
func (c *rawConn) secured(conn net.Conn, config *tls.Config) *rawConn {
	secure := tls.Server(conn, config)
	return &rawConn{Conn: secure, r: bufio.NewReader(secure)}
}

// TestLargeHeadsAreRepeated meets an idle connection that is closed as soon as a request begins to come, with a head
// that is more than TLS writes without waiting.
func TestLargeHeadsAreRepeated(t *testing.T) {
	certificate := secureEndpoint(t, false, http.NotFoundHandler())
	endpoint := newRawEndpoint(t, func(conn *rawConn, number int) {
		secure := conn.secured(conn.Conn, certificate.TLS)
		secure.head()
		secure.say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + map[bool]string{true: "old", false: "new"}[number == 1])
		if number == 1 {
			_, _ = conn.Conn.Read(make([]byte, 1))
			return
		}
		secure.head()
	})
	upstream := testUpstream(t, endpoint.address(), trusting(certificate))
	for _, want := range []string{"old", "new"} {
		r := testRequest(t, "GET", "example.com", nil)
		r.Header.Set("Cookie", strings.Repeat("c", atOnceBytes))
		if got := take(upstream.RoundTrip(r)); got.Body != want {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}

// cutting is a connection that holds back the last bytes of what is written, as soon as it is told to.
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
	endpoint := newRawEndpoint(t, func(conn *rawConn, number int) {
		below := &cutting{Conn: conn.Conn}
		secure := conn.secured(below, certificate.TLS)
		secure.head()
		if number > 1 {
			secure.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine")
			return
		}
		secure.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		<-next
		below.hold = true
		secure.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
		if secure.head() != "" {
			_, _ = conn.Conn.Write(below.held)
			secure.head()
		}
	})
	upstream := testUpstream(t, endpoint.address(), trusting(certificate))
	if got := take(upstream.RoundTrip(testRequest(t, "GET", "example.com", nil))); got.Body != "ok" {
		t.Fatalf("%+v", got)
	}
	l := upstream.pop()
	if l == nil || !l.quiet() {
		t.Fatal("the idle connection is not quiet")
	}
	close(next)
	eventually(t, "the part is there", func() bool { return hasMore(l.raw) })
	upstream.put(l)
	if got := take(upstream.RoundTrip(testRequest(t, "GET", "example.com", nil))); got.Body != "mine" {
		t.Errorf("the next request got %+v", got)
	}
}
