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
	if service == nil || !service.shows(map[*serviceNode]bool{}) || entrypoint.Loopback {
		return nil
	}
	// Without a host in the rule, the options of other hosts may let a client in as well.
	if around.guards || service.guarded || len(route.domains) > 0 && route.tls != nil && route.tls.DemandsClient() {
		return nil
	}
	if c.options.RequireAuth {
		return errUnguarded
	}
	node.warn(fmt.Sprintf("anybody who reaches entrypoint %q sees the configuration: put basicAuth, digestAuth, forwardAuth, jwt, ipAllowList "+
		"or client certificates before the API, or set api.requireAuth", entrypoint.Name))
	return nil
}

// shows tells whether a service, or one below it, is the API or the dashboard.
func (n *serviceNode) shows(seen map[*serviceNode]bool) bool {
	if n.name == serviceAPI || n.name == serviceDashboard {
		return true
	}
	seen[n] = true
	for _, child := range n.children {
		if !seen[child.node] && child.node.shows(seen) {
			return true
		}
	}
	return false
}

// guards tells whether a middleware decides who gets in.
func guards(definition *dynamic.Middleware) bool {
	return definition.BasicAuth != nil || definition.DigestAuth != nil || definition.ForwardAuth != nil || definition.JWT != nil ||
		definition.IPAllowList != nil || definition.IPWhiteList != nil
}
