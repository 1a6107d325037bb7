package router

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/rule"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Switch holds the table that serves. Readers load it without a lock; a request goes on with the table it began with.
type Switch struct {
	table atomic.Pointer[Table]
	// views recycles the rules' view of requests.
	views sync.Pool
}

// NewSwitch returns a switch that answers 404 until a table is activated.
func NewSwitch(entrypoints []EntryPoint) *Switch {
	s := &Switch{views: sync.Pool{New: func() any { return new(rule.Request) }}}
	s.table.Store(newTable(entrypoints))
	return s
}

func (s *Switch) store(table *Table) { s.table.Store(table) }

// Table returns the table that serves.
func (s *Switch) Table() *Table { return s.table.Load() }

// Handler returns the handler of one entrypoint: it finds the route of each request and serves it.
func (s *Switch) Handler(entrypoint string) http.Handler { return front{target: s, name: entrypoint} }

// TLS returns the choice of TLS options of one entrypoint.
func (s *Switch) TLS(entrypoint string) Selector { return Selector{target: s, name: entrypoint} }

// Selector chooses TLS options by server name, as the table that serves says.
type Selector struct {
	target *Switch
	name   string
}

// SelectTLS returns the options for a server name in lower case, empty when the client sent none. It is not ok before
// the first table is activated.
func (s Selector) SelectTLS(serverName string) (*certificate.Options, bool) {
	options := s.target.table.Load().entries[s.name].accepting(serverName)
	return options, options != nil
}

type front struct {
	target *Switch
	name   string
}

// ServeHTTP finds the route and lets it answer; without one it answers 404.
func (f front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry := f.target.table.Load().entries[f.name]
	view := f.target.views.Get().(*rule.Request)
	fill(view, r)
	found := entry.match(view, r.TLS != nil)
	host := view.Host
	view.Reset()
	f.target.views.Put(view)
	if found == nil {
		http.NotFound(w, r)
		return
	}
	route := found.Value
	record := telemetry.RecordFrom(r.Context())
	record.Router = route.Name
	if route.handler == nil {
		record.Reason = "the router is disabled"
		unavailable(w)
		return
	}
	if r.TLS != nil && !entry.mayServe(route, host, r) {
		record.Reason = "the connection was accepted under other TLS options than the router wants"
		misdirected(w)
		return
	}
	route.handler.ServeHTTP(w, r)
	if route.transient && record.Released {
		if recycler, ok := w.(recycler); ok {
			recycler.Recycle()
		}
	}
}

// recycler is a writer whose memory, and that of its request, can serve another request when nobody keeps a part of it.
type recycler interface{ Recycle() }

// fill sets the view that rules take of a request.
func fill(view *rule.Request, r *http.Request) {
	view.Host, _ = canonical.Host(r.Host)
	view.Path = canonical.RoutingPath(r)
	view.Method = r.Method
	view.Header = r.Header
	view.RawQuery = r.URL.RawQuery
	view.Client, _ = canonical.ClientAddr(r.RemoteAddr)
}

func (e *entry) index(secure bool) *index.Index[*Route] {
	if secure {
		return e.secure
	}
	return e.plain
}

func (e *entry) match(view *rule.Request, secure bool) *index.Route[*Route] {
	return e.index(secure).Match(view)
}

// mayServe tells whether the request's connection was accepted under the TLS options of the host that the request asks
// for, and those that the route wants if its rule names hosts: either may be what keeps strangers out.
func (e *entry) mayServe(route *Route, host string, r *http.Request) bool {
	wanted, connection := e.optionsFor(host), certificate.ConnectionFrom(r.Context())
	if wanted == nil || connection == nil || connection.Fingerprint != wanted.Fingerprint {
		return false
	}
	return len(route.domains) == 0 || route.tls != nil && route.tls.Fingerprint == wanted.Fingerprint
}

// misdirected answers 421 and closes the connection (RFC 9110 section 15.5.20), so that the client comes back on one
// that is negotiated anew; on HTTP/2 running streams finish.
func misdirected(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	http.Error(w, http.StatusText(http.StatusMisdirectedRequest), http.StatusMisdirectedRequest)
}

// unavailable answers 503 without saying why: reasons go to the log, never to a client.
func unavailable(w http.ResponseWriter) {
	http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
}
