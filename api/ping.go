package api

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Ping is the handler of the service ping@internal. A path that ends in /ready returns the readiness report with 200 if
// Sluice is ready and 503 if not. Any other path returns 200 and OK.
type Ping struct {
	state             State
	terminatingStatus int
	write             func(http.ResponseWriter, int, any)
	draining          atomic.Bool
}

// NewPing returns the handler. terminatingStatus is the option ping.terminatingStatusCode, the status while Sluice
// drains; 0 means 503.
func NewPing(state State, terminatingStatus int, logger telemetry.Logger) *Ping {
	if terminatingStatus == 0 {
		terminatingStatus = http.StatusServiceUnavailable
	}
	return &Ping{state: state, terminatingStatus: terminatingStatus, write: Writer(logger)}
}

// Drain makes all further responses report that Sluice is terminating.
func (p *Ping) Drain() { p.draining.Store(true) }

// ServeHTTP answers a probe.
func (p *Ping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		p.write(w, http.StatusMethodNotAllowed, Problem{Message: "probes are read-only"})
		return
	}
	draining := p.draining.Load()
	if strings.HasSuffix(r.URL.Path, "/ready") {
		report := NewReadiness(p.state.State())
		report.Draining = draining
		status := report.status()
		if draining {
			report.Ready, status = false, p.terminatingStatus
		}
		p.write(w, status, report)
		return
	}
	status := http.StatusOK
	if draining {
		status = p.terminatingStatus
	}
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, http.StatusText(status))
}
