package router

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/tcp"
)

// Listing is one router of the effective table.
type Listing struct {
	Name string `json:"name"`
	// Protocol is tcp or udp, and empty for HTTP.
	Protocol    string   `json:"protocol,omitempty"`
	Provider    string   `json:"provider"`
	EntryPoints []string `json:"entryPoints"`
	Rule        string   `json:"rule"`
	Priority    int      `json:"priority"`
	TLS         bool     `json:"tls"`
	// Passthrough says that TLS does not end at Sluice.
	Passthrough bool     `json:"passthrough,omitempty"`
	Middlewares []string `json:"middlewares,omitempty"`
	Service     string   `json:"service,omitempty"`
	// Status is enabled or disabled (it answers 503, closes connections or drops datagrams), Reason why.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`

	// route is one of its routes, which all have the same place in the order.
	route *index.Route[*Route]
}

// Routes returns the effective table: the routers that have a place in it, in the order in which they are tried, those
// of TCP and UDP behind those of HTTP. It is never nil.
func (t *Table) Routes() []Listing {
	found := map[string]*Listing{}
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		entry := t.entries[name]
		for _, secure := range []bool{false, true} {
			for _, route := range entry.index(secure).All() {
				listing := found[route.Name]
				if listing == nil {
					listing = &Listing{
						Name: route.Name, Provider: providerOf(route.Name), Rule: route.Value.Rule,
						Priority: route.Priority, Middlewares: route.Value.steps, Status: "enabled",
						route: route,
					}
					found[route.Name] = listing
				}
				listing.EntryPoints = append(listing.EntryPoints, name)
				listing.TLS = listing.TLS || secure
				if service := route.Value.service; service != nil {
					listing.Service = service.name
				} else {
					listing.Status, listing.Reason = "disabled", route.Value.fault
				}
			}
		}
	}
	listings := slices.AppendSeq(make([]Listing, 0, len(found)), values(found))
	slices.SortFunc(listings, func(a, b Listing) int { return a.route.Compare(b.route) })
	return append(append(listings, t.tcpListings()...), t.udpListings...)
}

// tcpListings returns the TCP routers, those with TLS first.
func (t *Table) tcpListings() []Listing {
	var routes []*tcp.Route[*TCPRoute]
	for _, entry := range t.entries {
		routes = slices.Concat(routes, entry.streams.Plain.Routes(), entry.streams.Secure.Routes())
	}
	slices.SortFunc(routes, func(a, b *tcp.Route[*TCPRoute]) int {
		return cmp.Or(a.Compare(b), cmp.Compare(a.Value.EntryPoint, b.Value.EntryPoint))
	})
	var listings []Listing
	places := map[string]int{}
	for _, route := range routes {
		if at, known := places[route.Name]; known {
			listings[at].EntryPoints = append(listings[at].EntryPoints, route.Value.EntryPoint)
			continue
		}
		places[route.Name] = len(listings)
		listing := Listing{
			Name: route.Name, Protocol: "tcp", Provider: providerOf(route.Name),
			Rule: route.Value.Rule, Priority: route.Priority, Middlewares: route.Value.middlewares,
			TLS: route.Value.secure, Status: "enabled",
			Passthrough: route.Value.secure && !route.Value.terminates, EntryPoints: []string{route.Value.EntryPoint},
		}
		if service := route.Value.service; service != nil {
			listing.Service = service.name
		} else {
			listing.Status, listing.Reason = "disabled", route.Value.fault.Error()
		}
		listings = append(listings, listing)
	}
	return listings
}

func values(found map[string]*Listing) func(yield func(Listing) bool) {
	return func(yield func(Listing) bool) {
		for _, listing := range found {
			if !yield(*listing) {
				return
			}
		}
	}
}

// Names returns the names of the routers that have a place in the table.
func (t *Table) Names() map[string]bool {
	names := map[string]bool{}
	for _, entry := range t.entries {
		for _, secure := range []bool{false, true} {
			for name := range entry.index(secure).Names() {
				names[name] = true
			}
		}
	}
	return names
}
