package forward

import (
	"crypto/tls"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
)

// settle is how long after the last request a connection may still be on its way to the idle ones: HTTP/2 forgets a
// stream, and a dial that was no longer needed completes, in goroutines of the transport.
const settle = 2 * time.Second

// connections are the connections to one upstream.
type connections struct {
	transport *Transport
	key       loadbalancer.UpstreamKey
	tls       *tls.Config
	main      *http.Transport

	// upgrades carries requests that ask for another protocol, which HTTP/2 can't: it speaks HTTP/1.1 alone. It is made
	// for the first of them.
	once     sync.Once
	upgrades atomic.Pointer[http.Transport]
}

// RoundTrip sends a request and returns the head of the response.
func (c *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.key.Scheme == "http" || len(r.Header["Upgrade"]) == 0 {
		return c.main.RoundTrip(r)
	}
	c.once.Do(func() {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(true)
		c.upgrades.Store(c.transport.wire(c, protocols))
	})
	return c.upgrades.Load().RoundTrip(r)
}

// CloseIdleConnections closes what no request uses, now and once everything has settled.
func (c *connections) CloseIdleConnections() {
	c.closeIdle()
	time.AfterFunc(settle, c.closeIdle)
}

func (c *connections) closeIdle() {
	c.main.CloseIdleConnections()
	if upgrades := c.upgrades.Load(); upgrades != nil {
		upgrades.CloseIdleConnections()
	}
}
