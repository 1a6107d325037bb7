package router

import (
	"errors"
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
)

// The services of Sluice that show its configuration.
const (
	serviceAPI       = "api@internal"
	serviceDashboard = "dashboard@internal"
)

// errUnguarded closes a router that api.requireAuth does not let serve.
var errUnguarded = errors.New("api.requireAuth: nothing on its way to the API decides who gets in")

// guard warns of a route that shows the configuration to whoever asks, and refuses it where api.requireAuth says so.
func (c *Compiler) guard(route *Route, around *middlewareNode, service *serviceNode, entrypoint EntryPoint, node *routerNode) error {
	if service == nil || entrypoint.Loopback || !around.shows && (around.guards || !service.shows) {
		return nil
	}
	// Without a host in the rule, the options of other hosts may let a client in as well.
	if len(route.domains) > 0 && route.tls != nil && route.tls.DemandsClient() {
		return nil
	}
	if c.options.RequireAuth {
		return errUnguarded
	}
	node.warn(fmt.Sprintf("anybody who reaches entrypoint %q sees the configuration: put basicAuth, digestAuth, forwardAuth, jwt, ipAllowList "+
		"or client certificates before the API, or set api.requireAuth", entrypoint.Name))
	return nil
}

// isConfiguration tells whether a service of Sluice's own is the API or the dashboard.
func isConfiguration(name string) bool { return name == serviceAPI || name == serviceDashboard }

// guards tells whether a middleware decides who gets in.
func guards(definition *dynamic.Middleware) bool {
	return definition.BasicAuth != nil || definition.DigestAuth != nil || definition.ForwardAuth != nil || definition.JWT != nil ||
		definition.IPAllowList != nil || definition.IPWhiteList != nil
}
