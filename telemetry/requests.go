package telemetry

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Requests counts the requests of one entrypoint. A counter is looked up by its labels once, when it is first needed;
// after that counting is one atomic addition.
type Requests struct {
	entrypoint string
	vec        *prometheus.CounterVec
	open       prometheus.Gauge
	counters   [methodCount * protocolCount]atomic.Pointer[[statusCount]atomic.Pointer[counter]]
}

type counter struct{ prometheus.Counter }

const (
	statusCount   = 600
	methodCount   = 10
	protocolCount = 3
)

// Entrypoint returns the counters of one entrypoint.
func (m *Metrics) Entrypoint(name string) *Requests {
	return &Requests{entrypoint: name, vec: m.requests, open: m.connections.WithLabelValues(name, "TCP")}
}

// Opened counts a connection that has been accepted.
func (r *Requests) Opened() { r.open.Inc() }

// Closed counts a connection that has been closed.
func (r *Requests) Closed() { r.open.Dec() }

// Finished counts a request.
func (r *Requests) Finished(record *Record) {
	status := record.Status
	if status < 0 || status >= statusCount {
		status = 0
	}
	row := methodIndex(record.Method)*protocolCount + protocolIndex(record.Protocol)
	codes := r.counters[row].Load()
	if codes == nil {
		r.counters[row].CompareAndSwap(nil, new([statusCount]atomic.Pointer[counter]))
		codes = r.counters[row].Load()
	}
	resolved := codes[status].Load()
	if resolved == nil {
		resolved = &counter{r.vec.WithLabelValues(strconv.Itoa(status), methodName(row/protocolCount),
			protocolName(row%protocolCount), r.entrypoint)}
		codes[status].Store(resolved)
	}
	resolved.Inc()
}

func methodName(index int) string {
	return [methodCount]string{
		"EXTENSION_METHOD", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE",
	}[index]
}

// methodIndex maps methods nobody registered onto one label, so that a client cannot make series.
func methodIndex(method string) int {
	for i := 1; i < methodCount; i++ {
		if methodName(i) == method {
			return i
		}
	}
	return 0
}

func protocolName(index int) string { return [protocolCount]string{"http", "websocket", "sse"}[index] }

func protocolIndex(protocol string) int {
	switch protocol {
	case protocolName(1):
		return 1
	case protocolName(2):
		return 2
	}
	return 0
}
