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

// begin takes the tokens of the handshake of a connection whose ClientHello has come, and waits for a place. The error
// is a refusalReason, or that of the handshake's context.
func (h *handshakes) begin(c *connection) error {
	if why := h.pace(c); why != admitted {
		return why
	}
	if c.handshaking == nil {
		return nil
	}
	return c.handshaking.Enter()
}

// handshaking is a connection's handshake, as a certificate.Place. One goroutine uses it.
type handshaking struct {
	ctx    context.Context
	places chan struct{}
	// longest is how long it waits for a place.
	longest time.Duration
	// entered is whether it has a place.
	entered bool
}

// Enter waits for a place, if it has none. A ClientHello that is answered by a HelloRetryRequest has left it.
func (h *handshaking) Enter() error {
	if h.entered || h.places == nil {
		return nil
	}
	select {
	case h.places <- struct{}{}:
		h.entered = true
		return nil
	default:
	}
	timer := time.NewTimer(h.longest)
	defer timer.Stop()
	select {
	case h.places <- struct{}{}:
		h.entered = true
		return nil
	case <-timer.C:
		return maxHandshakes
	case <-h.ctx.Done():
		return context.Cause(h.ctx)
	}
}

// Leave gives the place to another handshake.
func (h *handshaking) Leave() {
	if h.entered {
		<-h.places
		h.entered = false
	}
}
