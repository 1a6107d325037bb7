package authorize

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/clienttls"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/httpio"
)

const (
	// dialTimeout bounds a connection attempt and, apart from it, a TLS handshake.
	dialTimeout = 10 * time.Second
	// idleTimeout is how long an unused connection is kept.
	idleTimeout = 90 * time.Second
	// maxHead bounds the head of an answer, in bytes.
	maxHead = 1 << 20
)

var errStatus = errors.New("its status is not between 200 and 599")

// Server is a server that decides about requests.
type Server struct {
	// Kind is that of the middleware, and Option its option with the URL; errors begin with them.
	Kind, Option string
	// URL is the server's, as CheckURL demands.
	URL *url.URL
	// TLS is TLS towards the server; nil has the defaults.
	TLS *dynamic.ClientTLS
	// ReadFile reads the files that the options of TLS name; nil reads them from the disk.
	ReadFile func(path string) ([]byte, error)
	// Dial connects to the server, within a deadline of 10 s that the context has; nil is a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client sends requests to one server. Its connections serve one middleware alone: at most MaxInFlight, over HTTP/1.1,
// which are kept for 90 s when they are idle. It is safe for concurrent use.
type Client struct {
	upstream *client.Upstream
	// slots bounds the requests in flight, and with them the connections.
	slots  Slots
	closed atomic.Bool
}

// NewClient returns a client of a server, whose host it writes in ASCII in the URL. It does not dial.
func NewClient(server Server) (*Client, error) {
	secured, err := clienttls.New(server.Kind+".tls", clienttls.OptionsOf(server.TLS), server.ReadFile)
	if err != nil {
		return nil, err
	}
	if err := encodeHost(server.URL); err != nil {
		return nil, fmt.Errorf("%s.%s %w", server.Kind, server.Option, err)
	}
	port := cmp.Or(server.URL.Port(), "80")
	if server.URL.Scheme == "http" {
		secured = nil
	} else {
		port = cmp.Or(server.URL.Port(), "443")
		if secured == nil {
			secured = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		secured.ServerName = server.URL.Hostname()
	}
	target, dial := net.JoinHostPort(server.URL.Hostname(), port), server.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return &Client{
		slots: NewSlots(),
		upstream: new(client.Resources).NewUpstream(&client.Config{
			Dial: func(ctx context.Context) (net.Conn, error) {
				return dial(httpio.WithLimit(ctx, dialTimeout), "tcp", target)
			},
			TLS: secured, HandshakeTimeout: dialTimeout,
			MaxIdle: MaxInFlight, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHead,
		}),
	}, nil
}

// encodeHost writes an internationalised host in its ASCII form. The error is a clause that follows the option's name.
func encodeHost(address *url.URL) error {
	noName := errors.New("has a host that is not a name")
	if strings.ContainsFunc(address.Host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		ascii, err := idna.Lookup.ToASCII(address.Hostname())
		if err != nil {
			return noName
		}
		address.Host = ascii + strings.TrimPrefix(address.Host, address.Hostname())
	}
	// The client removes a zone, which is valid on this machine only, from Host.
	if !strings.Contains(address.Host, "%") && !canonical.ValidAuthority(address.Host) {
		return noName
	}
	return nil
}

// Acquire waits for one of the slots, until the context ends. Release ends what it began.
func (c *Client) Acquire(ctx context.Context) error { return c.slots.Acquire(ctx) }

// Release frees a slot. The body of the answer must have been closed.
func (c *Client) Release() {
	c.slots.Release()
	if c.closed.Load() {
		c.upstream.CloseIdleConnections()
	}
}

// Close closes idle connections, and lets the others be closed when their request has ended.
func (c *Client) Close() {
	c.closed.Store(true)
	c.upstream.CloseIdleConnections()
}

// Send returns the server's answer, whose body has yet to be read. It follows no redirects. The body of the request, if
// any, is in memory.
func (c *Client) Send(request *http.Request) (*http.Response, error) {
	// No Read of the body has to be interrupted.
	exchange := &client.RoundTrip{Options: client.Options{Interrupt: func() bool { return true }}}
	response, err := c.upstream.Do(exchange, request)
	if err != nil {
		return nil, err
	}
	if status := response.StatusCode; status < http.StatusOK || status > 599 {
		_ = response.Body.Close() // It is not used.
		return nil, errStatus
	}
	return response, nil
}
