package router

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/router/tcp"
	tcprule "github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/telemetry"
)

// VirtualHosts serves the clients of the listeners of one address, as the table that serves says: the server name of a
// connection or the host of a request selects the listener, and only its routers are searched.
type VirtualHosts struct {
	target  *ActiveTable
	address Address
}

// VirtualHosts returns what serves the listeners of an address of TCP.
func (t *ActiveTable) VirtualHosts(address Address) VirtualHosts {
	return VirtualHosts{target: t, address: address}
}

// PacketsOf returns the router of an address of UDP, which follows the table that serves. It is called before a table
// with that address is activated.
func (t *ActiveTable) PacketsOf(address Address) *datagram.Router { return t.Packets(address.String()) }

// ServeHTTP finds the listener and the route, and calls its handler; without either it answers 404. A request on a
// connection with TLS whose host is that of another listener than the connection's is answered 421.
func (v VirtualHosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serving := v.target.serving.Load()
	record := telemetry.RecordFrom(r.Context())
	host, _ := canonical.Host(r.Host)
	listener, connected := serving.sites.hosts[v.address].ofRequest(host, r.TLS)
	if listener == nil {
		record.Generation = serving.generation
		routingHandler{}.unmatched(w, r, record, nil)
		return
	}
	record.Entrypoint = listener.name
	if connected != listener {
		record.Generation, record.Code = serving.generation, telemetry.CodeMisdirected
		record.Reason = "the host is that of another listener than the server name of the connection"
		misdirected(w)
		return
	}
	handler := routingHandler{target: v.target, name: listener.name}
	handler.answer(w, r, record, handler.matchIn(serving, r), nil)
}

// ofRequest returns the listener of the host of a request, and the one of its connection.
func (v *virtualHosts) ofRequest(host string, state *tls.ConnectionState) (listener, connected *listenerNode) {
	switch {
	case v == nil || v.catchAll != nil:
		return nil, nil
	case state == nil:
		listener = v.plain.find(host)
		return listener, listener
	}
	listener = v.secure.find(host)
	if serverName := normalServerName(state.ServerName); serverName != host {
		return listener, v.secure.find(serverName)
	}
	return listener, listener
}

// normalServerName returns a server name in lower case without a final dot.
func normalServerName(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

// SelectTLS returns the options for a server name in lower case, empty when the client sent none. It is not ok where no
// listener of HTTPS has the name.
func (v VirtualHosts) SelectTLS(serverName string) (*certificate.Options, bool) {
	serving := v.target.serving.Load()
	hosts := serving.sites.hosts[v.address]
	if hosts == nil || hosts.catchAll != nil {
		return nil, false
	}
	listener := hosts.secure.find(serverName)
	if listener == nil || listener.definition.Protocol != dynamic.ListenerHTTPS {
		return nil, false
	}
	options := serving.entries[listener.name].accepting(serverName)
	return options, options != nil
}

// StreamNeeds returns for which stages there are listeners with TCP routers.
func (v VirtualHosts) StreamNeeds() tcp.Needs {
	hosts := v.target.serving.Load().sites.hosts[v.address]
	switch {
	case hosts == nil:
		return 0
	case hosts.catchAll != nil:
		return tcp.NeedsUnread | tcp.NeedsPlain
	case hosts.passes:
		return tcp.NeedsHello
	}
	return 0
}

// RouteStream returns what serves a connection of which a stage is known; nil is for HTTP, and for TLS of HTTPS.
func (v VirtualHosts) RouteStream(stage tcp.Stage, c *tcprule.Connection) tcp.Stream {
	serving := v.target.serving.Load()
	hosts := serving.sites.hosts[v.address]
	if hosts == nil {
		return nil
	}
	listener, takesAll := hosts.ofConnection(stage, c.ServerName)
	if listener != nil {
		if route := serving.entries[listener.name].streams.Route(stage, c); route != nil {
			return tcpStream{route: route.Value, generation: serving.generation}
		}
	}
	switch {
	case !takesAll:
		return nil
	case listener == nil: // No listener has the server name.
		return refusedStream{entryPoint: v.address.HostPort, generation: serving.generation}
	}
	return refusedStream{entryPoint: listener.name, generation: serving.generation, observe: listener.entrypoint.Observe}
}

// ofConnection returns the listener whose TCP routers may take a connection; nil where none may. takesAll says that
// nothing else serves the connection: TLS that no listener of HTTPS can end is closed without an alert, as the refusal
// of a connection of any other protocol.
func (v *virtualHosts) ofConnection(stage tcp.Stage, serverName string) (listener *listenerNode, takesAll bool) {
	switch {
	case v.catchAll != nil:
		return v.catchAll, true
	case stage != tcp.TLS && stage != tcp.StartTLS:
		return nil, false
	}
	listener = v.secure.find(serverName)
	switch {
	case listener == nil:
		return nil, !v.ends
	case listener.definition.Protocol != dynamic.ListenerTLS:
		return nil, false
	}
	return listener, true
}

// refusedStream closes the connections that no router of a listener takes.
type refusedStream struct {
	entryPoint string
	generation uint64
	observe    telemetry.Observe
}

// ServeStream notes why nothing serves the connection.
func (s refusedStream) ServeStream(_ context.Context, in *tcp.Incoming, done func()) {
	result := &in.Result
	result.EntryPoint, result.Generation, result.Observe = s.entryPoint, s.generation, s.observe
	result.Code, result.Reason = telemetry.CodeNoRouter, "no router takes the connection"
	done()
}
