package router

import (
	"fmt"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/tcp"
	tcprule "github.com/sluiceproxy/sluice/router/tcp/rule"
)

// streams is the part of an entry for TCP routers.
type streams struct {
	tcp.Entry[*TCPRoute]

	// needs are those of the Entry.
	needs tcp.Needs
	// catchAlls counts the HTTP routers with TLS whose rule has no Host.
	catchAlls int
}

// newStreams returns one without routes.
func newStreams(preferHTTP bool) streams {
	return streams{Entry: tcp.Entry[*TCPRoute]{
		Plain: tcp.NewTable[*TCPRoute](nil), Secure: tcp.NewTable[*TCPRoute](nil), PreferHTTP: preferHTTP,
	}}
}

// httpsRouters are the HTTP routers with TLS of an entry.
type httpsRouters struct{ entry *entry }

// Any reports whether there is one.
func (h httpsRouters) Any() bool { return h.entry.secure.Len() > 0 }

// Names reports whether the rule of one names the host.
func (h httpsRouters) Names(host string) bool {
	_, named := h.entry.hosts.find(host)
	return named
}

// CatchAll reports whether the rule of one names no host.
func (h httpsRouters) CatchAll() bool { return h.entry.streams.catchAlls > 0 }

// settle completes the TCP part of an entry after its other parts: the counts change by an exchange of HTTP routes.
func (e *entry) settle(replaced, added []*index.Route[*Route]) {
	for _, route := range replaced {
		if len(route.Value.domains) == 0 {
			e.streams.catchAlls--
		}
	}
	for _, route := range added {
		if len(route.Value.domains) == 0 {
			e.streams.catchAlls++
		}
	}
	e.streams.HTTPS = httpsRouters{e}
	e.streams.needs = e.streams.Needs()
}

// replaceStreams puts the TCP routes of an entrypoint into its entry.
func (e *entry) replaceStreams(routes []*tcp.Route[*TCPRoute], objects *tlsObjects) {
	var plain, secure []*tcp.Route[*TCPRoute]
	for _, route := range routes {
		switch {
		case !route.Value.secure:
			plain = append(plain, route)
		case route.Value.terminates:
			bound := *route
			bound.Value = route.Value.bind(objects.binder(e.entrypoint.Name))
			secure = append(secure, &bound)
		default:
			secure = append(secure, route)
		}
	}
	e.streams.Plain, e.streams.Secure = tcp.NewTable(plain), tcp.NewTable(secure)
}

// streamsOf returns the TCP routes of an entrypoint.
func (c *Compiler) streamsOf(entrypoint string) []*tcp.Route[*TCPRoute] {
	var routes []*tcp.Route[*TCPRoute]
	for _, node := range c.tcp.routers {
		for _, route := range node.streams {
			if route.Value.EntryPoint == entrypoint {
				routes = append(routes, route)
			}
		}
	}
	return routes
}

// Streams chooses the connections of an entrypoint that TCP routers take, as the table that serves says.
type Streams struct {
	target *ActiveTable
	name   string
}

// Streams returns the choice of TCP routers of one entrypoint.
func (t *ActiveTable) Streams(entrypoint string) Streams { return Streams{target: t, name: entrypoint} }

// StreamNeeds returns for which stages there are TCP routers; 0 without any.
func (s Streams) StreamNeeds() tcp.Needs {
	return s.target.serving.Load().entries[s.name].streams.needs
}

// RouteStream returns what serves a connection of which a stage is known; nil is for HTTP.
func (s Streams) RouteStream(stage tcp.Stage, c *tcprule.Connection) tcp.Stream {
	serving := s.target.serving.Load()
	route := serving.entries[s.name].streams.Route(stage, c)
	if route == nil {
		return nil
	}
	return tcpStream{route: route.Value, generation: serving.generation}
}

// unreachable returns, by TCP router, why one of its routes gets no connection.
func (e *entry) unreachable() map[string]string {
	if len(e.streams.Plain.Routes())+len(e.streams.Secure.Routes()) == 0 {
		return nil
	}
	found := map[string]string{}
	on := "on entrypoint " + fmt.Sprintf("%q", e.entrypoint.Name)
	for _, table := range []*tcp.Table[*TCPRoute]{e.streams.Plain, e.streams.Secure} {
		var before *tcp.Route[*TCPRoute]
		for _, route := range table.Routes() {
			if before != nil {
				found[route.Name] = fmt.Sprintf("gets no connection %s: router %q comes before it and takes all", on, before.Name)
				continue
			}
			if route.Rule.IsCatchAll() {
				before = route
			}
		}
	}
	for _, route := range e.streams.Secure.Routes() {
		hosts := route.Rule.Hosts()
		named := func(host string) bool { return e.streams.HTTPS.Names(host) }
		switch {
		case route.Rule.IsCatchAll() && e.streams.HTTPS.CatchAll():
			found[route.Name] = "gets no connection " + on + ": an HTTP router with TLS without Host comes before it"
		case len(hosts) > 0 && onlyHosts(route.Rule) && !slices.ContainsFunc(hosts, func(h string) bool { return !named(h) }):
			found[route.Name] = fmt.Sprintf("gets no connection %s: HTTP routers with TLS have the host %s", on, hosts[0])
		}
	}
	if taker := e.takesHTTP(); taker != "" {
		if _, known := found[taker]; !known {
			found[taker] = fmt.Sprintf("takes every connection without TLS %s, so that HTTP routers without TLS get none "+
				"there; entryPoints.%s.tcp.preferHTTP gives them the requests of HTTP", on, e.entrypoint.Name)
		}
	}
	return found
}

// onlyHosts reports whether a rule accepts only connections with one of its hosts as the server name.
func onlyHosts(rule *tcprule.Rule) bool {
	for _, key := range rule.Keys() {
		if key.Host == "" {
			return false
		}
	}
	return true
}

// takesHTTP returns the name of the router that takes all connections without TLS where HTTP routers listen for such,
// or "".
func (e *entry) takesHTTP() string {
	if e.streams.PreferHTTP || e.plain.Len() == 0 {
		return ""
	}
	for _, route := range e.streams.Plain.Routes() {
		if route.Rule.IsCatchAll() {
			return route.Name
		}
	}
	return ""
}

// unreachableVerdicts reports TCP routers that get no connection, or keep HTTP routers from getting one.
func (t *Table) unreachableVerdicts() []dynamic.Verdict {
	var verdicts []dynamic.Verdict
	for _, entry := range t.entries {
		for name, reason := range entry.unreachable() {
			verdicts = append(verdicts, dynamic.Verdict{
				Ref: dynamic.Ref{Kind: dynamic.KindTCPRouter, Name: name}, Status: dynamic.Degraded,
				Code: dynamic.CodeIneffectiveOption, Reason: reason,
			})
		}
	}
	return verdicts
}
