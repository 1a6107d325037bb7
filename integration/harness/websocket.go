package harness

import (
	"context"
	"crypto/sha1" //nolint:gosec // RFC 6455 has it for recognition, not for security.
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"
)

// WebSocket opens a WebSocket on a path, or fails the test: over HTTP/2 and HTTP/3 by an extended CONNECT. It is closed
// when the test ends.
func (c *Client) WebSocket(path string) *websocket.Conn {
	c.t.Helper()
	connection, err := c.TryWebSocket(path)
	if err != nil {
		c.t.Fatalf("websocket %s by %s: %v", path, c.Protocol, err)
	}
	c.t.Cleanup(func() { _ = connection.CloseNow() })
	return connection
}

// TryWebSocket opens a WebSocket that the caller closes.
func (c *Client) TryWebSocket(path string) (*websocket.Conn, error) {
	connection, response, err := websocket.Dial(c.t.Context(), c.URL(path), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: c.tunnels}, Subprotocols: []string{"echo"},
	})
	if err != nil {
		if response != nil && response.Body != nil {
			_ = response.Body.Close()
		}
		return nil, err
	}
	connection.SetReadLimit(8 << 20)
	return connection, nil
}

// newTunnels returns the transport of the client's WebSockets. Over HTTP/2 and HTTP/3 they share a connection.
func (c *Client) newTunnels() http.RoundTripper {
	switch {
	case c.Protocol.HTTP2():
		inner := c.overHTTP2()
		return extendedConnect(func(r *http.Request) (*http.Response, error) {
			response, err := overStream(inner, r)
			if errors.Is(err, io.ErrClosedPipe) {
				// The server has begun to end the connection. What it has not processed may be repeated (RFC 9113, section
				// 6.8), which the transport does with a body that it has closed.
				return overStream(inner, r)
			}
			return response, err
		})
	case c.Protocol == H3:
		transport, _ := c.Client.Transport.(*http3.Transport)
		tunnels := &quicTunnels{transport: transport}
		c.t.Cleanup(tunnels.close)
		return extendedConnect(tunnels.open)
	}
	return c.Transport
}

// overHTTP2 returns a transport that sends pseudo-header fields, which net/http's refuses.
//
//nolint:staticcheck // That is why it is not net/http's.
func (c *Client) overHTTP2() *http2.Transport {
	transport := &http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, address string, settings *tls.Config) (net.Conn, error) {
			conn, err := c.Transport.DialContext(ctx, network, address)
			if err != nil || !c.Protocol.Secure() {
				return conn, err
			}
			secure := tls.Client(conn, settings)
			return secure, secure.HandshakeContext(ctx)
		},
		TLSClientConfig: c.Transport.TLSClientConfig.Clone(),
	}
	c.t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// extendedConnect sends the handshake of a WebSocket as an extended CONNECT (RFC 8441, section 5), and makes the
// response one of HTTP/1.1. The function opens the stream; the body of its response is both directions of it.
type extendedConnect func(r *http.Request) (*http.Response, error)

// errAnswered is an answer to a key that an extended CONNECT does not have.
var errAnswered = errors.New("the response to an extended CONNECT has Sec-WebSocket-Accept or Upgrade")

// RoundTrip opens the stream.
func (e extendedConnect) RoundTrip(r *http.Request) (*http.Response, error) {
	key := r.Header.Get("Sec-Websocket-Key")
	out := r.Clone(r.Context())
	out.Method = http.MethodConnect
	for _, name := range []string{"Connection", "Upgrade", "Sec-Websocket-Key"} {
		delete(out.Header, name)
	}
	response, err := e(out)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	if response.Header.Get("Sec-Websocket-Accept") != "" || response.Header.Get("Upgrade") != "" {
		_ = response.Body.Close()
		return nil, errAnswered
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
	response.StatusCode = http.StatusSwitchingProtocols
	response.Header.Set("Sec-Websocket-Accept", base64.StdEncoding.EncodeToString(sum[:]))
	response.Header.Set("Connection", "Upgrade")
	response.Header.Set("Upgrade", "websocket")
	return response, nil
}

// overStream opens the stream on a connection of HTTP/2.
//
//nolint:staticcheck // As overHTTP2 returns it.
func overStream(inner *http2.Transport, r *http.Request) (*http.Response, error) {
	body, upload := io.Pipe()
	r.Body, r.ContentLength = body, -1
	r.Header[":protocol"] = []string{"websocket"}
	response, err := inner.RoundTrip(r)
	if err != nil {
		_ = upload.Close()
		return nil, err
	}
	response.Body = duplex{ReadCloser: response.Body, Writer: upload, upload: upload}
	return response, nil
}

// errUnsent says that a connection takes no more requests, as after GOAWAY.
var errUnsent = errors.New("the request was not sent")

// quicTunnels opens streams on a connection of HTTP/3 (RFC 9220), and another one when that has ended.
type quicTunnels struct {
	transport *http3.Transport

	mutex      sync.Mutex
	connection *quic.Conn
	client     *http3.ClientConn
	// before are earlier connections, whose streams go on.
	before []*quic.Conn
}

func (q *quicTunnels) connect(r *http.Request) (*http3.ClientConn, error) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.connection != nil && q.connection.Context().Err() == nil {
		return q.client, nil
	}
	settings := q.transport.TLSClientConfig.Clone()
	settings.NextProtos, settings.ServerName = []string{http3.NextProtoH3}, r.URL.Hostname()
	connection, err := q.transport.Dial(r.Context(), "", settings, &quic.Config{})
	if err != nil {
		return nil, err
	}
	q.connection, q.client = connection, q.transport.NewClientConn(connection)
	return q.client, nil
}

func (q *quicTunnels) close() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, connection := range append(q.before, q.connection) {
		if connection != nil {
			_ = connection.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		}
	}
}

// open opens a stream, on another connection where the server has begun to end this one: what it rejects it has not
// processed (RFC 9114, section 5.2).
func (q *quicTunnels) open(r *http.Request) (*http.Response, error) {
	response, err := q.try(r)
	rejected := new(http3.Error)
	if errors.Is(err, errUnsent) || errors.As(err, &rejected) && rejected.ErrorCode == http3.ErrCodeRequestRejected {
		q.mutex.Lock()
		q.before, q.connection = append(q.before, q.connection), nil
		q.mutex.Unlock()
		return q.try(r)
	}
	return response, err
}

func (q *quicTunnels) try(r *http.Request) (*http.Response, error) {
	connection, err := q.connect(r)
	if err != nil {
		return nil, err
	}
	stream, err := connection.OpenRequestStream(r.Context())
	if err != nil {
		return nil, errors.Join(errUnsent, err)
	}
	r.Proto = "websocket"
	if err := stream.SendRequestHeader(r); err != nil {
		return nil, err
	}
	response, err := stream.ReadResponse()
	if err != nil {
		return nil, err
	}
	response.Body = stream
	return response, nil
}

// duplex is both directions of a stream.
type duplex struct {
	io.ReadCloser
	io.Writer
	upload *io.PipeWriter
}

// Close ends both directions.
func (d duplex) Close() error { return errors.Join(d.upload.Close(), d.ReadCloser.Close()) }
