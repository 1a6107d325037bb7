package router

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
)

// chooser is a middleware that decides which clients may choose the environment.
type chooser struct {
	name string
	*dynamic.EnvironmentMiddleware
}

// choosers returns those among compiled middlewares, in order.
func (c *Compiler) choosers(names []string) []chooser {
	var found []chooser
	for _, name := range names {
		if definition := c.source.middleware(name); definition != nil && definition.Environment != nil {
			found = append(found, chooser{name, definition.Environment})
		}
	}
	return found
}

// checkHeaders warns of the headers from which environment services take the tag of a client that the middlewares
// before them do not let choose. Before are the middlewares of the router; those of services follow on the way.
func (c *Compiler) checkHeaders(node *routerNode, before []chooser, service *serviceNode) {
	before = append(slices.Clip(before), c.choosers(service.steps)...)
	if service.environments != nil && len(before) > 0 {
		for _, warning := range openHeaders(before, service.name, service.environments.declared) {
			node.warn(dynamic.CodeUncoveredHeader, warning)
		}
	}
	for i := range service.children {
		if child := service.children[i].node; child.selects {
			c.checkHeaders(node, before, child)
		}
	}
}

// openHeaders returns a warning for each of the middlewares that leaves such headers to one environment service. Those
// for another header than that of the service are for other services, unless none is for that.
func openHeaders(before []chooser, service string, config *dynamic.Environment) []string {
	concerned := slices.DeleteFunc(slices.Clone(before), func(one chooser) bool { return !one.removes(config.Header) })
	others := len(concerned) == 0
	if others {
		concerned = slices.Clone(before)
	}
	// Where anyone may choose, there is no client that may not.
	concerned = slices.DeleteFunc(concerned, func(one chooser) bool { return one.Trust != nil && one.Trust.Anyone })
	if others {
		concerned = concerned[:min(len(concerned), 1)]
	}
	var warnings []string
	for _, one := range concerned {
		var open []string
		if !one.removes(config.Header) {
			open = append(open, config.Header)
		}
		for _, alias := range config.Aliases {
			if !slices.Contains(open, alias.Name) && !closed(before, one, alias.Name) {
				open = append(open, alias.Name)
			}
		}
		if len(open) > 0 {
			warnings = append(warnings, one.warning(open, service))
		}
	}
	return warnings
}

// closed reports whether a header is removed from all requests whose clients a middleware does not let choose: by that
// one, or by another one that lets no others choose.
func closed(before []chooser, by chooser, header string) bool {
	// The host is in no header of a request, and what identifies a client is removed by the entrypoint.
	if strings.EqualFold(header, "Host") || forwarded.IsManaged(header) {
		return true
	}
	return by.removes(header) || slices.ContainsFunc(before, func(other chooser) bool {
		return other.removes(header) && (other.removesFromAll() || dynamic.Equal(other.Trust, by.Trust))
	})
}

// removes reports whether a header of clients that may not choose is removed, or what of it holds the tag.
func (c *chooser) removes(header string) bool {
	if c.Sources != nil && c.Sources.Cookie != "" && forwarded.SameHeader(header, "Cookie") {
		return true
	}
	return forwarded.SameHeader(header, c.Header) ||
		slices.ContainsFunc(c.Aliases, func(alias string) bool { return forwarded.SameHeader(header, alias) })
}

// removesFromAll reports whether no client may choose, but by a signed tag.
func (c *chooser) removesFromAll() bool {
	return c.Trust == nil || !c.Trust.Anyone && !c.Trust.Authenticated && len(c.Trust.SourceRange) == 0
}

// warning says which headers a middleware leaves to an environment service, and what to do.
func (c *chooser) warning(open []string, service string) string {
	var listed, remedies []string
	for _, header := range open {
		if forwarded.SameHeader(header, "Cookie") {
			remedies = append(remedies, "name the cookie in environment.sources.cookie")
		} else {
			listed = append(listed, header)
		}
	}
	if len(listed) > 0 {
		remedies = append([]string{"list " + strings.Join(listed, ", ") + " in environment.aliases"}, remedies...)
	}
	return fmt.Sprintf("%s does not remove %s, from which %s takes the tag, so that clients that may not choose an "+
		"environment can: %s", dynamic.Ref{Kind: dynamic.KindMiddleware, Name: c.name}, strings.Join(open, ", "),
		dynamic.Ref{Kind: dynamic.KindService, Name: service}, strings.Join(remedies, ", and "))
}
