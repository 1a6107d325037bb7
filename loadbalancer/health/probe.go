package health

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"time"
)

// Client sends the requests of one check. When that is over its idle connections are closed; a client that has a method Close, which
// closes all of them, is closed instead.
type Client interface {
	http.RoundTripper
	// CloseIdleConnections closes the connections that no request uses.
	CloseIdleConnections()
}

// Connector makes clients.
type Connector interface {
	// RoundTripper returns a client of its own for one check of an endpoint. The scheme is http for HTTP/1.1, https for
	// what TLS agrees on, or h2c for HTTP/2 without TLS; host is the authority whose name TLS asks for and verifies, empty
	// where the endpoint is known by its address alone.
	RoundTripper(scheme string, address netip.AddrPort, host string) Client
}

// Target is who is checked.
type Target struct {
	// Scheme is http, https or h2c.
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

// Verdict is what checks say of an endpoint.
type Verdict struct {
	// Up says that the endpoint is well.
	Up bool
	// Reason is the last answer in one clause, for logs and people.
	Reason string
	// At is when that was known.
	At time.Time
}

// state is what a probe is about.
type state uint8

const (
	// queued probes wait for a worker.
	queued state = iota
	// running probes are checked, or tell of a change.
	running
	// resting probes wait for their time.
	resting
	// stopped probes are done for ever.
	stopped
)

// Probe is the check of one target, again and again, until Stop.
type Probe struct {
	prober  *Prober
	target  Target
	check   Check
	changed func(Verdict)

	// The lock of the prober guards what follows.

	next   *Probe
	timer  *time.Timer
	cancel context.CancelFunc
	// against counts the answers in a row that contradict the verdict.
	against int32
	state   state
	decided bool
	up      bool
}

// Stop ends the probe, cancels a check that is under way, and returns at once. From then on changed is not called. Stop
// does not wait for a call that is being made at that moment, so the caller may hold a lock which changed wants: such a
// call asks Stopped once it has that lock, and finds out that it comes too late.
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

// weigh takes an answer into account and reports whether the verdict is new.
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

// rest waits for the time of the next check, when the last one took so long.
func (p *Probe) rest(took time.Duration) {
	interval := p.check.interval
	if !p.up {
		interval = p.check.unhealthy
	}
	interval = spread(interval, p.check.jitter)
	p.state = resting
	wait := interval - took%interval
	if p.timer == nil {
		p.timer = time.AfterFunc(wait, p.due)
		return
	}
	p.timer.Reset(wait)
}

// spread returns an interval that is longer or shorter at random by up to so many percent, and above 0.
func spread(interval time.Duration, percent uint8) time.Duration {
	by := (2*rand.Float64() - 1) * float64(percent) / 100
	return max(interval+time.Duration(by*float64(interval)), time.Millisecond)
}

// due puts the probe into the queue when its time has come.
func (p *Probe) due() {
	p.prober.mutex.Lock()
	defer p.prober.mutex.Unlock()
	if p.state == resting {
		p.prober.enqueue(p)
	}
}
