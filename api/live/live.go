// Package live answers what those want to know who look at a Sluice that runs: how each endpoint stands, what each
// generation of the configuration changed, what happens now, and how much traffic there is.
//
// In flow the immutable State of the pipeline and the channel that tells of the next one, and, through interfaces that
// this package declares, how endpoints stand and what was counted; out flow JSON, and server-sent events. What goes out
// is redacted: a secret that has changed is shown as changed and never by its value. Nothing is queued for a listener:
// each takes what it has missed from the State, on the goroutine of its own request, so that a slow one holds up
// nobody. The package never changes anything, and keeps nothing but the number of its listeners.
package live

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Endpoints says how endpoints stand; cmd/sluice answers from the pools.
type Endpoints interface {
	// Endpoints returns the endpoints that the query selects, in order of their addresses. Each is a function that says
	// how it stands, so that only those are looked at closely that fit on the page.
	Endpoints(query EndpointQuery) []func() Endpoint
}

// Traffic says what was counted; telemetry.Metrics does.
type Traffic interface {
	// Traffic returns the counts of the names, or of all where there are none, in order of their names.
	Traffic(kind telemetry.TrafficKind, names []string) []telemetry.Traffic
	// History returns the samples of the last minutes.
	History() telemetry.TrafficHistory
}

// Options says what a Live answers from.
type Options struct {
	// State and Logger are needed. Logger hears about answers that could not be written as JSON.
	State  api.State
	Logger telemetry.Logger
	// Endpoints and Traffic answer /api/endpoints and /api/traffic; where one is nil, its paths are not served.
	Endpoints Endpoints
	Traffic   Traffic
	// Version is what the event hello says of Sluice; it is left out where it is empty.
	Version string
}

// Live answers /api/endpoints, /api/generations, /api/events and /api/traffic. It is a part of the API.
type Live struct {
	options   Options
	write     func(w http.ResponseWriter, status int, value any)
	listeners atomic.Int64
	draining  chan struct{}
	drain     sync.Once
}

// New returns a Live that is not mounted yet.
func New(options Options) *Live {
	return &Live{options: options, write: api.Writer(options.Logger), draining: make(chan struct{})}
}

// Drain ends all streams of events, and begins no more: Sluice has been told to stop. It may be called more than once.
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
}

func (l *Live) refuse(w http.ResponseWriter, status int, message string) {
	l.write(w, status, api.Problem{Message: message})
}
