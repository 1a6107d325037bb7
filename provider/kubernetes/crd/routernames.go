package crd

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// CheckRule returns why the rule of a router is invalid, nil if it is valid. Only Rule and RuleSyntax are set.
type CheckRule func(*dynamic.Router) error

// lastNames are the names of the routers of all IngressRoutes as they were translated last. The name of a router has
// the hash of its rule. A route whose rule is changed to an invalid one keeps the name that it had: so this is a change
// of the same router, whose last valid definition can stay in use, and not a new one.
type lastNames struct {
	check    CheckRule
	bySource map[translation.Source]routerNames
}

// routerNames are the names of the routers of one IngressRoute, in order of its routes.
type routerNames struct {
	uid   types.UID
	names []string
}

// routerNames returns the names of the routers of an IngressRoute, in order of its routes. next is that of
// nextWithSame.
func (t *translator) routerNames(source translation.Source, object *v1alpha1.IngressRoute, next []int) []string {
	routes := object.Spec.Routes
	names, taken := make([]string, len(routes)), make(map[string]bool, len(routes))
	for i := range routes {
		names[i] = routerName(source.Namespace, source.Name, routes[i].Match)
		taken[names[i]] = true
	}
	if t.last == nil {
		return names
	}
	var before []string
	if last := t.last.bySource[source]; last.uid == object.GetUID() {
		before = last.names
	}
	for i := min(len(routes), len(before)) - 1; i >= 0; i-- {
		route := &routes[i]
		if next[i] > 0 {
			names[i] = names[next[i]]
		} else if name := before[i]; !taken[name] &&
			t.last.check(&dynamic.Router{Rule: route.Match, RuleSyntax: syntaxOf(route.Syntax)}) != nil {
			names[i], taken[name] = name, true
		}
	}
	t.last.bySource[source] = routerNames{object.GetUID(), names}
	return names
}

// forget drops what is kept of an object that is gone.
func (l *lastNames) forget(source translation.Source) {
	if l != nil {
		delete(l.bySource, source)
	}
}
