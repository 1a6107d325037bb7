package router

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/middleware/guard"
)

// The services of Sluice that show its configuration, and the one that changes its state.
const (
	serviceAPI       = "api@internal"
	serviceDashboard = "dashboard@internal"
	serviceAdmin     = "admin@internal"
)

// errUnguarded closes a router that leads to the API without access control.
var errUnguarded = errors.New("nothing on its way to the API decides who gets in")

// trustLevel returns the one that an entrypoint has.
func (e EntryPoint) trustLevel() guard.TrustLevels {
	switch {
	case e.AnyPeer:
		return guard.AnyProxy
	case e.AnyForwarded:
		return guard.AnyForwarded
	}
	return guard.TrustedPeers
}

// access says how a middleware, a chain of them or a service restricts or exposes the configuration.
type access struct {
	// guards are the trust levels at which it restricts access, shows those at which it shows the configuration to
	// clients, and changes those at which it lets them change the state of the process.
	guards, shows, changes guard.TrustLevels
	// gaps are reasons why a guard does not restrict access.
	gaps []guard.Gap
}

// maxGaps bounds how many reasons one object has.
const maxGaps = 3

// before returns the access of two, of which the second is reached through the first.
func (a access) before(next access) access {
	return access{
		guards:  a.guards | next.guards,
		shows:   a.shows | next.shows&^a.guards,
		changes: a.changes | next.changes&^a.guards,
		gaps:    both(a.gaps, next.gaps),
	}
}

// beside returns what a shows, changes and guards, and that another that can answer in its place may show and change it
// too.
func (a access) beside(other access) access {
	return access{
		guards:  a.guards,
		shows:   a.shows | other.shows,
		changes: a.changes | other.changes,
		gaps:    both(a.gaps, other.gaps),
	}
}

func both(some, others []guard.Gap) []guard.Gap {
	if len(others) == 0 {
		return some
	}
	joined := slices.Clip(some)
	for _, one := range others {
		if len(joined) < maxGaps && !slices.Contains(joined, one) {
			joined = append(joined, one)
		}
	}
	return joined
}

// guard reports a route that exposes the API without access control. It refuses one to the API with api.requireAuth,
// and one to the administration in any case.
func (c *Compiler) guard(route *Route, around *middlewareNode, service *serviceNode, entrypoint EntryPoint,
	node *routerNode,
) error {
	if service == nil || entrypoint.Loopback {
		return nil
	}
	way, now := around.access.before(service.access), entrypoint.trustLevel()
	if (way.shows|way.changes)&now == 0 {
		return nil
	}
	// Without a host in the rule, the options of other hosts may let a client in as well.
	if len(route.domains) > 0 && route.tls != nil && route.tls.DemandsClient() {
		return nil
	}
	why := way.excuses(now)
	switch {
	case way.changes&now != 0:
		return fmt.Errorf("%s: %w%s", serviceAdmin, errUnguarded, why)
	case c.options.RequireAuth:
		return fmt.Errorf("api.requireAuth: %w%s", errUnguarded, why)
	}
	node.warn(dynamic.CodeUnguarded,
		fmt.Sprintf("entrypoint %q shows the configuration without access control%s: put basicAuth, digestAuth, "+
			"forwardAuth, jwt, ipAllowList or client certificates before the API, or set api.requireAuth", entrypoint.Name, why))
	return nil
}

// excuses returns the reasons of ineffective guards, in brackets; it is empty if there are none.
func (a access) excuses(now guard.TrustLevels) string {
	var all []string
	for _, one := range a.gaps {
		if one.On&now != 0 {
			all = append(all, one.Why)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}

// showing returns the access of one of Sluice's own services.
func showing(name string) access {
	switch name {
	case serviceAPI, serviceDashboard:
		return access{shows: guard.Always}
	case serviceAdmin:
		return access{changes: guard.Always}
	}
	return access{}
}

// guarding returns the access that a compiled middleware declares. A kind that declares none admits all clients.
func (c *Compiler) guarding(name string, definition *dynamic.Middleware, step middleware.Middleware) access {
	guarding, ok := step.(middleware.Guard)
	if !ok {
		return access{}
	}
	declared := guarding.Guards()
	if declared.Server != "" && c.isOwnEntrypoint(declared.Server) {
		kind, _ := middleware.KindOf(definition) // Build has found one.
		declared = guard.Except(guard.Always, kind+" "+name+" sends its requests to an entrypoint of Sluice itself")
	}
	return access{guards: declared.Guards, gaps: declared.Gaps}
}

// isOwnEntrypoint reports whether a URL leads to an entrypoint by a loopback address. What answers there may be
// anything, such as ping.
func (c *Compiler) isOwnEntrypoint(address string) bool {
	server, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(server.Hostname(), ".")
	ip, err := netip.ParseAddr(host)
	own := err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsUnspecified())
	if !own && !strings.EqualFold(host, "localhost") {
		return false
	}
	port := server.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(server.Scheme)]
	}
	listens := func(e EntryPoint) bool { return strconv.Itoa(e.Port) == port }
	return slices.ContainsFunc(c.options.EntryPoints, listens) || slices.ContainsFunc(c.listeners.sites.sockets,
		func(s Socket) bool { return strings.HasSuffix(s.HostPort, ":"+port) })
}
