package router

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/rule"
	"github.com/sluiceproxy/sluice/telemetry"
)

// ActiveTable holds the table that serves. It is replaced atomically and read without a lock; a request keeps the table
// with which it began.
type ActiveTable struct {
	serving atomic.Pointer[serving]
	tracer  Tracer
	shedder Shedder
	// discovery is nil where all hosts are known; discovering are the entrypoints that it is for.
	discovery   Discovery
	discovering map[string]bool
	// packets are the routers of UDP entrypoints, by name.
	packets sync.Map
	// views recycles the rules' view of requests.
	views sync.Pool
}

// serving is a table with the number of its generation.
type serving struct {
	*Table
	generation uint64
	// replaced is closed when another table serves.
	replaced chan struct{}
}

// Tracer decides whether a request that a router answers is sampled, and begins its span then.
type Tracer interface {
	Begin(record *telemetry.Record, r *http.Request)
}

// NewActiveTable returns one that answers 404 until a table is activated.
func NewActiveTable(entrypoints []EntryPoint) *ActiveTable {
	t := &ActiveTable{views: sync.Pool{New: func() any { return new(rule.Request) }}}
	t.store(newTable(entrypoints), 0)
	return t
}

// Trace sets the tracer of requests to traced routers. It is called before the first request.
func (t *ActiveTable) Trace(tracer Tracer) { t.tracer = tracer }

func (t *ActiveTable) store(table *Table, generation uint64) {
	before := t.serving.Swap(&serving{Table: table, generation: generation, replaced: make(chan struct{})})
	if before == nil {
		return
	}
	close(before.replaced)
	before.forgetPackets(table, &t.packets)
	t.packets.Range(func(name, router any) bool {
		route := table.packets[name.(string)]
		if route != nil {
			numbered := *route // It may serve in several generations.
			numbered.Generation = generation
			route = &numbered
		}
		router.(*datagram.Router).Set(route)
		return true
	})
}

// Packets returns the router of a UDP entrypoint, which follows the table that serves. It is called before the first
// table is activated.
func (t *ActiveTable) Packets(entrypoint string) *datagram.Router {
	router, _ := t.packets.LoadOrStore(entrypoint, &datagram.Router{})
	return router.(*datagram.Router)
}

// Table returns the table that serves.
func (t *ActiveTable) Table() *Table { return t.serving.Load().Table }

// Handler returns the handler of one entrypoint: it finds the route of each request and serves it.
// Requests that no router matches are answered 404.
func (t *ActiveTable) Handler(entrypoint string) http.Handler {
	return routingHandler{target: t, name: entrypoint}
}

// HandlerOr is Handler with another handler for requests that no router matches. Requests of which that is not certain,
// since a discovery failed, go there as well.
func (t *ActiveTable) HandlerOr(entrypoint string, otherwise http.Handler) http.Handler {
	return routingHandler{target: t, name: entrypoint, otherwise: otherwise}
}

// TLS returns the choice of TLS options of one entrypoint.
func (t *ActiveTable) TLS(entrypoint string) Selector { return Selector{target: t, name: entrypoint} }

// Selector chooses TLS options by server name, as the table that serves says.
type Selector struct {
	target *ActiveTable
	name   string
}

// SelectTLS returns the options for a server name in lower case, empty when the client sent none. It is not ok before
// the first table is activated.
func (s Selector) SelectTLS(serverName string) (*certificate.Options, bool) {
	options := s.target.serving.Load().entries[s.name].accepting(serverName)
	return options, options != nil
}

// routingHandler serves the requests of one entrypoint.
type routingHandler struct {
	target *ActiveTable
	name   string
	// otherwise serves requests that no router matches; nil for 404.
	otherwise http.Handler
}

// match is the route of a request in the table that serves; the route is nil when no rule matches.
type match struct {
	serving *serving
	entry   *entry
	route   *index.Route[*Route]
	host    string
	port    uint16 // set when there is no route
}

// match finds the route of a request.
func (h routingHandler) match(r *http.Request) match {
	return h.matchIn(h.target.serving.Load(), r)
}

// matchIn finds the route of a request in a table.
func (h routingHandler) matchIn(serving *serving, r *http.Request) match {
	found := match{serving: serving, entry: serving.entries[h.name]}
	view := h.target.views.Get().(*rule.Request)
	fill(view, r)
	found.route = found.entry.index(r.TLS != nil).Match(view)
	found.host = view.Host
	if found.route == nil {
		found.port = view.Port()
	}
	view.Reset()
	h.target.views.Put(view)
	return found
}

// ServeHTTP finds the route and calls its handler; without a route it answers 404.
func (h routingHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found := h.match(r)
	var reason error
	if found.route == nil && h.target.discovering[h.name] {
		found, reason = h.discover(r, found)
	}
	h.answer(w, r, telemetry.RecordFrom(r.Context()), found, reason)
}

// answer serves a request by its route; without one, reason is why that is not certain.
func (h routingHandler) answer(
	w http.ResponseWriter, r *http.Request, record *telemetry.Record, found match, reason error,
) {
	record.Generation = found.serving.generation
	if found.route == nil {
		h.unmatched(w, r, record, reason)
		return
	}
	route := found.route.Value
	record.Router, record.RouterSeries, record.Ingress = route.Name, route.series, route.ingress
	record.HostNamed = route.hostNamed
	record.Critical = route.class == dynamic.PriorityCritical
	if !route.seen.Has(telemetry.ObserveAccess) {
		record.Observe &^= telemetry.ObserveHeaders // They are kept for the access log alone.
	}
	record.Observe = record.Observe&telemetry.ObserveHeaders | route.seen
	if record.Observe.Has(telemetry.ObserveTrace) && h.target.tracer != nil {
		record.TraceApart = route.traceApart
		h.target.tracer.Begin(record, r)
	}
	if route.handler == nil {
		record.Code, record.Reason = route.code, route.reason
		refuse(w, r, route.code)
		return
	}
	if r.TLS != nil && !found.entry.mayServe(route, found.host, r) {
		record.Code = telemetry.CodeMisdirected
		record.Reason = "the connection was accepted under other TLS options than those of the router"
		misdirected(w)
		return
	}
	h.target.serve(w, r, record, route)
	if route.recyclable && record.Released {
		if recycler, ok := w.(recycler); ok {
			recycler.Recycle()
		}
	}
}

// recycler is a writer whose memory, and that of its request, can be reused when no part of it is retained.
type recycler interface{ Recycle() }

// fill sets the view that rules take of a request.
func fill(view *rule.Request, r *http.Request) {
	view.Host, _ = canonical.Host(r.Host)
	view.Authority, view.TLS = r.Host, r.TLS != nil
	view.Escaped, view.Path = canonical.Paths(r)
	view.Method = r.Method
	view.Header = r.Header
	view.RawQuery = r.URL.RawQuery
	view.Client, _ = forwarded.ClientAddr(r.RemoteAddr)
}

func (e *entry) index(secure bool) *index.Index[*Route] {
	if secure {
		return e.secure
	}
	return e.plain
}

// mayServe reports whether the request's connection was accepted under the TLS options of the request's host, and under
// those of the route if its rule names hosts: either may require client certificates.
func (e *entry) mayServe(route *Route, host string, r *http.Request) bool {
	wanted, connection := e.optionsFor(host), certificate.ConnectionFrom(r.Context())
	if wanted == nil || !wanted.Accepts(connection, r.TLS) {
		return false
	}
	return len(route.domains) == 0 || route.tls == wanted || route.tls != nil && route.tls.Accepts(connection, r.TLS)
}

// misdirected answers 421 and closes the connection (RFC 9110 section 15.5.20), so that the client comes back on one
// that is negotiated anew; on HTTP/2 running streams finish.
func misdirected(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	http.Error(w, http.StatusText(http.StatusMisdirectedRequest), http.StatusMisdirectedRequest)
}

// refuse answers for a router that is disabled without saying why: reasons go to the log, never to a client.
func refuse(w http.ResponseWriter, r *http.Request, code telemetry.Code) {
	status := http.StatusServiceUnavailable
	if code == telemetry.CodeUnguarded {
		status = http.StatusForbidden
	}
	httpio.Error(w, r, status, http.StatusText(status)+"\n")
}
