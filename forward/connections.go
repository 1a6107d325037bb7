package forward

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/http1"
)

// settle is how long after the last request an HTTP/2 connection may still be on its way to the idle ones: a stream is
// forgotten, and a dial that was no longer needed completes, in goroutines of the transport.
const settle = 2 * time.Second

// connections are the connections to one upstream.
type connections struct {
	transport *Transport
	// main speaks HTTP/1.1, after ALPN where there is a choice; nil for h2c.
	main *http1.Upstream
	// upgrades speaks HTTP/1.1 whatever the endpoint prefers, for requests that ask for another protocol, which HTTP/2
	// can't carry. Without a choice it is main.
	upgrades *http1.Upstream
	// multiplexed speaks HTTP/2; nil where that is out of the question.
	multiplexed *multiplexed
}

// RoundTrip sends a request and returns the head of the response.
func (c *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	return c.send(&http1.Call{}, r, http.RoundTripper.RoundTrip)
}

// send sends a request by the call, or through the round tripper of HTTP/2.
func (c *connections) send(
	call *http1.Call, r *http.Request, through func(http.RoundTripper, *http.Request) (*http.Response, error),
) (*http.Response, error) {
	switch {
	case len(r.Header["Upgrade"]) > 0:
		return c.upgrades.Do(call, r)
	case c.main == nil:
		return through(c.multiplexed.wire, r)
	case c.multiplexed != nil && c.multiplexed.agreed.Load():
		response, err := through(c.multiplexed.wire, r)
		if !errors.Is(err, errNotHTTP2) {
			return response, err
		}
		// The endpoint is another program by now. Nothing was sent, so the question is asked anew.
		c.multiplexed.agreed.Store(false)
		if !reopen(r.Body) {
			return nil, err
		}
	}
	response, err := c.main.Do(call, r)
	if !errors.Is(err, http1.ErrHTTP2) {
		return response, err
	}
	defer c.multiplexed.drop()
	return through(c.multiplexed.wire, r)
}

// reopen undoes the Close of a transport that read nothing, where it can be undone.
func reopen(body io.ReadCloser) bool {
	if body == nil || body == http.NoBody {
		return true
	}
	closed, ok := body.(interface{ reopen() })
	if ok {
		closed.reopen()
	}
	return ok
}

// Close closes the connections, whatever goes on over them, and makes no more.
func (c *connections) Close() {
	c.upgrades.Close()
	if c.main != nil {
		c.main.Close()
	}
	if c.multiplexed != nil {
		c.multiplexed.drop()
		c.multiplexed.live.close()
		c.multiplexed.wire.CloseIdleConnections()
	}
}

// CloseIdleConnections closes what no request uses, for HTTP/2 now and once everything has settled.
func (c *connections) CloseIdleConnections() {
	c.upgrades.CloseIdleConnections()
	if c.main != nil {
		c.main.CloseIdleConnections()
	}
	if c.multiplexed != nil {
		c.multiplexed.closeIdle()
		time.AfterFunc(settle, c.multiplexed.closeIdle)
	}
}
