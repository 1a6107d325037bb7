package datagram

import "sync/atomic"

// Route is where the sessions of an entrypoint go.
type Route struct {
	// RouterName is the qualified name of the router.
	RouterName string
	// EntryPoint is the name of the entrypoint in the records of sessions; empty for that of the server.
	EntryPoint string
	// Service opens the sessions.
	Service Service
	// Generation is the number of the configuration that the route is of.
	Generation uint64
}

// Router holds the current route of an entrypoint. The zero value has none, so that all datagrams are dropped. It may
// be used by any number of goroutines.
type Router struct{ route atomic.Pointer[Route] }

// Set replaces the route; nil is none. Only new sessions follow it. The route must not be changed afterwards.
func (r *Router) Set(route *Route) { r.route.Store(route) }

// Route returns the current route, or nil.
func (r *Router) Route() *Route { return r.route.Load() }
