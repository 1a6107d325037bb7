// Package live adds current state to the API: /api/endpoints, /api/generations, /api/events, /api/traffic and
// /api/requests.
//
// It reads the pipeline's immutable State with its channel for the next one, and endpoints and counters through the
// interfaces declared here. Output is JSON and server-sent events, redacted: a changed secret is listed as changed,
// without its value. Events are not queued: each stream computes its events from the State on the goroutine of its own
// request, so that a slow client delays no other.
package live

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// Endpoints reports the state of endpoints; cmd/sluice implements it with the pools.
type Endpoints interface {
	// Endpoints returns the selected endpoints, sorted by address. Each is a function, so that only those of the requested
	// page are evaluated.
	Endpoints(query EndpointQuery) []func() Endpoint
}

// Traffic returns request counts; it is implemented by metrics.Metrics.
type Traffic interface {
	// Traffic returns the counts of the names, or of all if there are none, sorted by name.
	Traffic(kind metrics.TrafficKind, names []string) []metrics.Traffic
	// History returns the samples of the last minutes.
	History() metrics.TrafficHistory
}

// Options are the data sources of Live.
type Options struct {
	// State and Logger are required. Logger logs responses that could not be encoded as JSON.
	State  api.State
	Logger telemetry.Logger
	// Endpoints and Traffic answer /api/endpoints and /api/traffic; where one is nil, its paths are not served.
	Endpoints Endpoints
	Traffic   Traffic
	// Unmatched answers /api/traffic/unmatched, and Requests /api/requests; where one is nil, its path is not served.
	Unmatched Unmatched
	Requests  Requests
	// Version is sent in the event hello; empty leaves it out.
	Version string
}

// Live answers the paths of the package. It is a part of the API.
type Live struct {
	options   Options
	write     func(w http.ResponseWriter, status int, value any)
	listeners atomic.Int64
	draining  chan struct{}
	drain     sync.Once
}

// New returns a Live that is to be mounted.
func New(options Options) *Live {
	return &Live{options: options, write: api.Writer(options.Logger), draining: make(chan struct{})}
}

// Drain ends all event streams and refuses new ones. It may be called more than once.
func (l *Live) Drain() { l.drain.Do(func() { close(l.draining) }) }

// Mount adds the paths, which begin with prefix, to the API's.
func (l *Live) Mount(root *mux.Router, prefix string) {
	get := func(path string, handler http.HandlerFunc) { api.Get(root, prefix+path, handler) }
	get("/api/generations", l.generations)
	get("/api/generations/{number}", l.generation)
	get("/api/events", l.events)
	if l.options.Endpoints != nil {
		get("/api/endpoints", l.endpoints)
	}
	if l.options.Traffic != nil {
		get("/api/traffic", l.traffic)
		get("/api/traffic/routers", l.routerTraffic)
		get("/api/traffic/services", l.serviceTraffic)
	}
	if l.options.Unmatched != nil {
		get("/api/traffic/unmatched", l.unmatched)
	}
	if l.options.Requests != nil {
		get("/api/requests", l.requests)
	}
}

func (l *Live) refuse(w http.ResponseWriter, status int, message string) {
	l.write(w, status, api.Problem{Message: message})
}
