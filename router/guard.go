package router

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The services of Sluice that show its configuration.
const (
	serviceAPI       = "api@internal"
	serviceDashboard = "dashboard@internal"
)

// errUnguarded closes a router that api.requireAuth does not let serve.
var errUnguarded = errors.New("api.requireAuth: nothing on its way to the API decides who gets in")

// situations is a set of what entrypoints let clients say of where they come from. An entrypoint is in one of them.
type situations uint8

const (
	// honest: only peers that were chosen may say that a request comes from somebody else.
	honest situations = 1 << iota
	// forwardable: X-Forwarded-For is believed whoever sends it.
	forwardable
	// pretended: the PROXY protocol is believed whoever speaks it, and with it what chosen peers alone may forward.
	pretended

	always = honest | forwardable | pretended
)

// situation returns the one that an entrypoint is in.
func (e EntryPoint) situation() situations {
	switch {
	case e.AnyPeer:
		return pretended
	case e.AnyForwarded:
		return forwardable
	}
	return honest
}

// access is what a middleware, a chain of them or a service does for who gets to see the configuration.
type access struct {
	// guards are the situations in which it decides who gets in, shows those in which it shows the configuration to whom it lets in.
	guards, shows situations
	// misses say what looks like a guard and is none.
	misses []miss
}

// miss is why a middleware is no guard in some situations.
type miss struct {
	on  situations
	why string
}

// maxMisses bounds how many reasons one object has.
const maxMisses = 3

// before returns the access of two, of which the second is reached through the first.
func (a access) before(next access) access {
	return access{guards: a.guards | next.guards, shows: a.shows | next.shows&^a.guards, misses: both(a.misses, next.misses)}
}

// beside returns what a shows and guards, and that another that can be asked in its place may show the configuration too.
func (a access) beside(other access) access {
	return access{guards: a.guards, shows: a.shows | other.shows, misses: both(a.misses, other.misses)}
}

func both(some, others []miss) []miss {
	if len(others) == 0 {
		return some
	}
	joined := slices.Clip(some)
	for _, one := range others {
		if len(joined) < maxMisses && !slices.Contains(joined, one) {
			joined = append(joined, one)
		}
	}
	return joined
}

// guard warns of a route that shows the configuration to whoever asks, and refuses it where api.requireAuth says so.
func (c *Compiler) guard(route *Route, around *middlewareNode, service *serviceNode, entrypoint EntryPoint, node *routerNode) error {
	if service == nil || entrypoint.Loopback {
		return nil
	}
	way, now := around.access.before(service.access), entrypoint.situation()
	if way.shows&now == 0 {
		return nil
	}
	// Without a host in the rule, the options of other hosts may let a client in as well.
	if len(route.domains) > 0 && route.tls != nil && route.tls.DemandsClient() {
		return nil
	}
	why := way.excuses(now)
	if c.options.RequireAuth {
		return fmt.Errorf("%w%s", errUnguarded, why)
	}
	node.warn(fmt.Sprintf("anybody who reaches entrypoint %q sees the configuration%s: put basicAuth, digestAuth, forwardAuth, jwt, ipAllowList "+
		"or client certificates before the API, or set api.requireAuth", entrypoint.Name, why))
	return nil
}

// excuses returns what looks like a guard and is none, in brackets; it is empty where nothing does.
func (a access) excuses(now situations) string {
	var all []string
	for _, one := range a.misses {
		if one.on&now != 0 {
			all = append(all, one.why)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}

// showing returns the access of one of Sluice's own services.
func showing(name string) access {
	if name == serviceAPI || name == serviceDashboard {
		return access{shows: always}
	}
	return access{}
}
