package health

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Client sends the requests of one check. After the check its idle connections are closed; a client with a method
// Close, which closes all of them, is closed instead.
type Client interface {
	http.RoundTripper
	// CloseIdleConnections closes the connections that no request uses.
	CloseIdleConnections()
}

// Connector makes clients and connections.
type Connector interface {
	// RoundTripper returns a client for one check of an endpoint. The scheme is http for HTTP/1.1, https for
	// the protocol that ALPN selects, or h2c for HTTP/2 without TLS. host is the authority that TLS sends as
	// SNI and verifies, empty where the endpoint is known by its address only.
	RoundTripper(scheme string, address netip.AddrPort, host string) Client
	// Dial returns a connection for one check of an endpoint of TCP. The scheme is tcp, or tls; host is as for
	// RoundTripper.
	Dial(ctx context.Context, scheme string, address netip.AddrPort, host string) (net.Conn, error)
}

// Target is the endpoint to check.
type Target struct {
	// Scheme is http, https or h2c, and for endpoints of TCP tcp or tls.
	Scheme string
	// Address is where the endpoint listens.
	Address netip.AddrPort
	// Host is the authority of the server's URL, empty where there is none.
	Host string
	// Path is the escaped path of the server's URL, empty for none. It counts for checks whose path has no leading slash.
	Path string
	// Connect reaches the endpoint.
	Connect Connector
}

// Result is the state of an endpoint by its checks.
type Result struct {
	// Up is set for a healthy endpoint.
	Up bool
	// Reason is the last result in one clause.
	Reason string
	// At is the time of the result.
	At time.Time
}

// state is the state of a probe.
type state uint8

const (
	// queued probes wait for a worker.
	queued state = iota
	// running probes are in a check, or in changed.
	running
	// resting probes wait for their next check.
	resting
	// stopped probes are not run again.
	stopped
)

// Probe is the periodic check of one target, until Stop.
type Probe struct {
	prober  *Prober
	target  Target
	check   Check
	changed func(Result)

	// The fields below are guarded by the prober's lock.

	next   *Probe
	timer  *time.Timer
	cancel context.CancelFunc
	// against counts the results in a row that contradict the state.
	against int32
	state   state
	decided bool
	up      bool
}

// Stop ends the probe, cancels a check in progress, and returns at once; changed is not called after that. Stop
// does not wait for a call of changed in progress, so the caller may hold a lock that changed needs: such a
// call checks Stopped once it has the lock.
func (p *Probe) Stop() {
	p.prober.mutex.Lock()
	defer p.prober.mutex.Unlock()
	p.halt()
	delete(p.prober.probes, p)
}

// Stopped reports whether Stop was called, or the prober closed.
func (p *Probe) Stopped() bool {
	p.prober.mutex.Lock()
	defer p.prober.mutex.Unlock()
	return p.state == stopped
}

func (p *Probe) halt() {
	p.state = stopped
	if p.cancel != nil {
		p.cancel()
	}
	if p.timer != nil {
		p.timer.Stop()
	}
}

// weigh counts a result and reports whether the state has changed.
func (p *Probe) weigh(up bool) bool {
	if p.decided && up == p.up {
		p.against = 0
		return false
	}
	p.against++
	threshold := p.check.fall
	if up {
		threshold = p.check.rise
	}
	if p.decided && p.against < threshold {
		return false
	}
	p.decided, p.up, p.against = true, up, 0
	return true
}

// rest schedules the next check; took is the duration of the last one.
func (p *Probe) rest(took time.Duration) {
	interval := p.check.interval
	if !p.up {
		interval = p.check.unhealthy
	}
	interval = spread(interval, p.check.jitter)
	p.wait(interval - took%interval)
}

// inconclusiveInterval is the longest time until a check is repeated that was not made.
const inconclusiveInterval = time.Second

// retry schedules the repetition of a check that was not made.
func (p *Probe) retry() { p.wait(min(inconclusiveInterval, p.check.interval)) }

// wait schedules the next check.
func (p *Probe) wait(wait time.Duration) {
	p.state = resting
	if p.timer == nil {
		p.timer = time.AfterFunc(wait, p.due)
		return
	}
	p.timer.Reset(wait)
}

// spread varies an interval at random by up to percent.
func spread(interval time.Duration, percent uint8) time.Duration {
	by := (2*rand.Float64() - 1) * float64(percent) / 100
	return max(interval+time.Duration(by*float64(interval)), time.Millisecond)
}

// due enqueues the probe.
func (p *Probe) due() {
	p.prober.mutex.Lock()
	defer p.prober.mutex.Unlock()
	if p.state == resting {
		p.prober.enqueue(p)
	}
}
