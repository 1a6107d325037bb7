package crd

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// RuleChecks return why the rule of a router is invalid, nil if it is valid.
type RuleChecks interface {
	// CheckRule reads Rule and RuleSyntax, and nothing else is set.
	CheckRule(definition *dynamic.Router) error
	// CheckTCPRule reads Rule, RuleSyntax and whether there is TLS, and nothing else is set.
	CheckTCPRule(definition *dynamic.TCPRouter) error
}

// lastNames are the names of the routers of all IngressRoutes and IngressRouteTCPs as they were translated last. The
// name of a router has the hash of its rule. A route whose rule is changed to an invalid one keeps the name that it
// had: so this is a change of the same router, whose last valid definition can stay in use, and not a new one.
type lastNames struct {
	checks   RuleChecks
	bySource map[translation.Source]routerNames
}

// routerNames are the names of the routers of one object, in order of its routes.
type routerNames struct {
	uid   types.UID
	names []string
}

// routerNames returns the names of the routers of an IngressRoute, in order of its routes. next is that of
// nextWithSame.
func (t *translator) routerNames(source translation.Source, object *v1alpha1.IngressRoute, next []int) []string {
	routes := object.Spec.Routes
	names := make([]string, len(routes))
	for i := range routes {
		names[i] = routerName(source.Namespace, source.Name, routes[i].Match)
	}
	return t.last.keep(source, object.UID, names, next, func(i int) error {
		return t.last.checks.CheckRule(&dynamic.Router{Rule: routes[i].Match, RuleSyntax: syntaxOf(routes[i].Syntax)})
	})
}

// routerNamesTCP is routerNames for an IngressRouteTCP.
func (t *translator) routerNamesTCP(source translation.Source, object *v1alpha1.IngressRouteTCP, next []int) []string {
	routes := object.Spec.Routes
	names := make([]string, len(routes))
	for i := range routes {
		names[i] = routerNameTCP(source.Namespace, source.Name, routes[i].Match)
	}
	return t.last.keep(source, object.UID, names, next, func(i int) error {
		router := &dynamic.TCPRouter{Rule: routes[i].Match, RuleSyntax: syntaxOf(routes[i].Syntax)}
		if object.Spec.TLS != nil {
			router.TLS = new(dynamic.TCPRouterTLS)
		}
		return t.last.checks.CheckTCPRule(router)
	})
}

// keep returns the names with those of routes with an invalid rule replaced by the ones that they had before.
func (l *lastNames) keep(
	source translation.Source, uid types.UID, names []string, next []int, check func(route int) error,
) []string {
	if l == nil {
		return names
	}
	taken := make(map[string]bool, len(names))
	for _, name := range names {
		taken[name] = true
	}
	var before []string
	if last := l.bySource[source]; last.uid == uid {
		before = last.names
	}
	for i := min(len(names), len(before)) - 1; i >= 0; i-- {
		if next[i] > 0 {
			names[i] = names[next[i]]
		} else if name := before[i]; !taken[name] && check(i) != nil {
			names[i], taken[name] = name, true
		}
	}
	l.bySource[source] = routerNames{uid, names}
	return names
}

// forget drops what is kept of an object that is gone.
func (l *lastNames) forget(source translation.Source) {
	if l != nil {
		delete(l.bySource, source)
	}
}
