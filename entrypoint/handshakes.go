package entrypoint

import (
	"context"
	"runtime"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// handshakesPerProcessor is how many TLS handshakes are computed at a time by default, for each processor that Go uses.
const handshakesPerProcessor = 4

// handshakes limits the TLS handshakes of an entrypoint: how many begin in a second, and over TCP how many are computed
// at a time. Computing goes from the ClientHello to the first bytes of the answer, so that no client is waited for.
// What is served already gets its share of the processors then, however many handshakes there are.
type handshakes struct {
	rate *rate
	// places has a value for each handshake that is computed; nil is no limit.
	places chan struct{}
}

func newHandshakes(limits *static.Limits) handshakes {
	h := handshakes{rate: newRate(limits.MaxHandshakeRate, limits.MaxHandshakeRatePerClient, 0)}
	switch most := limits.MaxHandshakes; {
	case most > 0:
		h.places = make(chan struct{}, most)
	case most == 0:
		h.places = make(chan struct{}, handshakesPerProcessor*runtime.GOMAXPROCS(0))
	}
	return h
}

// pace takes the tokens of a handshake, or returns which rate refuses it.
func (h *handshakes) pace(c *connection) refusalReason {
	if h.rate == nil {
		return admitted
	}
	now := time.Now()
	switch {
	case !h.rate.allowsClient(c.client, now):
		return handshakeRatePerClient
	case !h.rate.allows(now):
		return handshakeRate
	}
	return admitted
}

// begin waits for a place for the handshake of a connection whose ClientHello has come, for as long as a handshake may
// take. The error is a refusalReason, or that of ctx.
func (h *handshakes) begin(ctx context.Context, c *connection, longest time.Duration) error {
	if why := h.pace(c); why != admitted {
		return why
	}
	if h.places == nil {
		return nil
	}
	select {
	case h.places <- struct{}{}:
		c.place = h.places
		return nil
	default:
	}
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case h.places <- struct{}{}:
		c.place = h.places
		return nil
	case <-timer.C:
		return maxHandshakes
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leavePlace gives the place of the handshake to another one, if the connection has one. The goroutine of the handshake
// calls it.
func (c *connection) leavePlace() {
	if c.place != nil {
		<-c.place
		c.place = nil
	}
}
