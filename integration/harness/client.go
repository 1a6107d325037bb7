package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// Protocol is the protocol between a client and an entrypoint.
type Protocol string

// The protocols: HTTP/1.1 and HTTP/2, each with and without TLS, and HTTP/3.
const (
	H1    Protocol = "h1"
	H1TLS Protocol = "h1+TLS"
	H2    Protocol = "h2"
	H2C   Protocol = "h2c"
	H3    Protocol = "h3"
)

// Protocols returns those over TCP.
func Protocols() []Protocol { return []Protocol{H1, H1TLS, H2, H2C} }

// Secure reports whether the protocol runs over TLS.
func (p Protocol) Secure() bool { return p == H1TLS || p == H2 || p == H3 }

// HTTP2 reports whether the protocol is HTTP/2.
func (p Protocol) HTTP2() bool { return p == H2 || p == H2C }

// Scheme returns http or https.
func (p Protocol) Scheme() string {
	if p.Secure() {
		return "https"
	}
	return "http"
}

// Client is an http.Client that uses one protocol and one address, regardless of the hosts in URLs. It does not follow
// redirects, keep cookies or decompress.
type Client struct {
	*http.Client

	Protocol Protocol
	// Transport is the transport of the embedded client, but for HTTP/3.
	Transport *http.Transport

	host string
	// tunnels is the transport of WebSockets.
	tunnels http.RoundTripper
	t       testing.TB
}

// NewClient returns a client that connects to the address and requests the host. The TLS settings may be nil for plain
// protocols; SNI is the host.
func NewClient(t testing.TB, protocol Protocol, address, host string, settings *tls.Config) *Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!protocol.HTTP2())
	protocols.SetHTTP2(protocol == H2)
	protocols.SetUnencryptedHTTP2(protocol == H2C)
	dialer := &net.Dialer{Timeout: timeout}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		TLSClientConfig:       settings.Clone(),
		Protocols:             protocols,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   200,
		ExpectContinueTimeout: timeout, // Wait for 100 Continue.
	}
	t.Cleanup(transport.CloseIdleConnections)
	var used http.RoundTripper = transport
	if protocol == H3 {
		http3 := NewHTTP3(address, settings)
		t.Cleanup(func() { _ = http3.Close() })
		used = http3
	}
	client := &Client{
		Client: &http.Client{
			Transport:     used,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       time.Minute,
		},
		Protocol: protocol, Transport: transport, host: host, t: t,
	}
	client.tunnels = client.newTunnels()
	return client
}

// NewHTTP3 returns a transport for HTTP/3 that connects to the address, and that the caller closes.
func NewHTTP3(address string, settings *tls.Config) *http3.Transport {
	return &http3.Transport{
		TLSClientConfig:    settings.Clone(),
		DisableCompression: true,
		Dial: func(ctx context.Context, _ string, settings *tls.Config, config *quic.Config) (*quic.Conn, error) {
			return quic.DialAddr(ctx, address, settings, config)
		},
	}
}

// For returns the same client for a subtest.
func (c *Client) For(t testing.TB) *Client {
	own := *c
	own.t = t
	return &own
}

// URL returns the URL of a path with query.
func (c *Client) URL(path string) string { return c.Protocol.Scheme() + "://" + c.host + path }

// Request returns a request for a path with query. Its context ends with the test.
func (c *Client) Request(method, path string, body io.Reader) *http.Request {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.URL(path), body)
	if err != nil {
		c.t.Fatal(err)
	}
	return request
}

// Response is a response that has been read to its end.
type Response struct {
	*http.Response

	// Text is the body.
	Text string
}

// Send sends a request and reads the whole response, or fails the test.
func (c *Client) Send(request *http.Request) Response {
	c.t.Helper()
	response, err := c.Try(request)
	if err != nil {
		c.t.Fatalf("%s %s by %s: %v", request.Method, request.URL, c.Protocol, err)
	}
	return response
}

// Get sends a GET request for a path with query.
func (c *Client) Get(path string) Response {
	c.t.Helper()
	return c.Send(c.Request(http.MethodGet, path, nil))
}

// Post sends a POST request with a body.
func (c *Client) Post(path, body string) Response {
	c.t.Helper()
	return c.Send(c.Request(http.MethodPost, path, bytes.NewReader([]byte(body))))
}

// Try sends a request and reads the response as far as possible. The error is why it is not complete.
func (c *Client) Try(request *http.Request) (Response, error) {
	response, err := c.Do(request)
	if err != nil {
		return Response{}, err
	}
	text, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	return Response{Response: response, Text: string(text)}, err
}
