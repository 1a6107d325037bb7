package forward

import (
	"errors"
	"net/http"

	"github.com/sluiceproxy/sluice/http1/client"
	http2 "github.com/sluiceproxy/sluice/http2/client"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// connections are the connections to one upstream.
type connections struct {
	transport *Transport
	// main speaks HTTP/1.1, after ALPN where there is a choice; nil for h2c.
	main *client.Upstream
	// upgrades speaks HTTP/1.1 whatever the endpoint prefers, for requests with an Upgrade field, which HTTP/2
	// can't carry. It is main where the endpoint has no choice.
	upgrades *client.Upstream
	// multiplexed speaks HTTP/2; nil if HTTP/2 is impossible.
	multiplexed *multiplexed
}

// RoundTrip sends a request and returns the head of the response.
func (c *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	return c.Send(&client.RoundTrip{}, r, plainSender{})
}

// plainSender sends requests over HTTP/2 as they are.
type plainSender struct{}

// SendShared sends the request.
func (plainSender) SendShared(through *http2.Upstream, r *http.Request) (*http.Response, error) {
	return through.RoundTrip(r)
}

// Shares reports whether requests may go over HTTP/2.
func (c *connections) Shares() bool { return c.multiplexed != nil }

// Send sends a request by the call, or has shared send it over HTTP/2.
func (c *connections) Send(
	call *client.RoundTrip, r *http.Request, shared loadbalancer.SharedSender,
) (*http.Response, error) {
	switch {
	case len(r.Header["Upgrade"]) > 0:
		return c.upgrades.Do(call, r)
	case c.main == nil:
		return shared.SendShared(c.multiplexed.upstream, r)
	case c.multiplexed != nil && c.multiplexed.agreed.Load():
		response, err := shared.SendShared(c.multiplexed.upstream, r)
		if err != http2.ErrNotHTTP2 { //nolint:errorlint // as connect returns it
			return response, err
		}
		// The endpoint no longer speaks HTTP/2. Nothing was sent, so the request is sent over HTTP/1.1.
		c.multiplexed.agreed.Store(false)
	}
	response, err := c.main.Do(call, r)
	if !errors.Is(err, client.ErrHTTP2) {
		return response, err
	}
	return shared.SendShared(c.multiplexed.upstream, r)
}

// Close closes all connections, those in use too, and refuses new ones.
func (c *connections) Close() {
	c.upgrades.Close()
	if c.main != nil {
		c.main.Close()
	}
	if c.multiplexed != nil {
		c.multiplexed.upstream.Close()
	}
}

// CloseIdleConnections closes unused connections.
func (c *connections) CloseIdleConnections() {
	c.upgrades.CloseIdleConnections()
	if c.main != nil {
		c.main.CloseIdleConnections()
	}
	if c.multiplexed != nil {
		c.multiplexed.upstream.CloseIdleConnections()
	}
}

// IdleConnections returns how many HTTP/1.1 connections are idle, and how many HTTP/2 connections exist, which
// any number of requests may share.
func (c *connections) IdleConnections() (idle, shared int) {
	idle = c.upgrades.Idle()
	if c.main != nil && c.main != c.upgrades {
		idle += c.main.Idle()
	}
	if c.multiplexed != nil {
		shared = c.multiplexed.upstream.Connections()
	}
	return idle, shared
}
