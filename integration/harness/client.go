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
)

// Protocol is how a client speaks to an entrypoint.
type Protocol string

// The protocols that clients speak.
const (
	H1    Protocol = "h1"
	H1TLS Protocol = "h1+TLS"
	H2    Protocol = "h2"
	H2C   Protocol = "h2c"
)

// Protocols lists all of them.
func Protocols() []Protocol { return []Protocol{H1, H1TLS, H2, H2C} }

// Secure reports whether the protocol runs over TLS.
func (p Protocol) Secure() bool { return p == H1TLS || p == H2 }

// HTTP2 reports whether the protocol is HTTP/2.
func (p Protocol) HTTP2() bool { return p == H2 || p == H2C }

// Scheme returns http or https.
func (p Protocol) Scheme() string {
	if p.Secure() {
		return "https"
	}
	return "http"
}

// Client is an http.Client that speaks one protocol to one address, whatever host its URLs name. It follows no
// redirect, keeps no cookie and decompresses nothing.
type Client struct {
	*http.Client

	// Protocol is what it speaks.
	Protocol Protocol
	// Transport is what the embedded client sends with.
	Transport *http.Transport

	host string
	t    testing.TB
}

// NewClient returns a client that connects to the address and asks for the host. The TLS settings may be nil where the
// protocol does without; the name for SNI is that of the host.
func NewClient(t testing.TB, protocol Protocol, address, host string, settings *tls.Config) *Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!protocol.HTTP2())
	protocols.SetHTTP2(protocol == H2)
	protocols.SetUnencryptedHTTP2(protocol == H2C)
	dialer := &net.Dialer{Timeout: patience}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		TLSClientConfig:       settings.Clone(),
		Protocols:             protocols,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   200,
		ExpectContinueTimeout: patience, // Nobody guesses that a server does not answer.
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &Client{
		Client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       time.Minute,
		},
		Protocol: protocol, Transport: transport, host: host, t: t,
	}
}

// For returns the same client for a subtest, which its failures belong to.
func (c *Client) For(t testing.TB) *Client {
	own := *c
	own.t = t
	return &own
}

// URL returns the URL of a path with query.
func (c *Client) URL(path string) string { return c.Protocol.Scheme() + "://" + c.host + path }

// Request returns a request for a path with query, which lives as long as the test.
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

// Send sends a request and reads the whole response. It fails the test when that does not succeed.
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

// Try sends a request and reads the response as far as it comes. The error says why it is not complete.
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
