package gateway

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// contention are the routes at listeners of which only one route can have the traffic, with their times of creation.
type contention struct {
	at       map[listenerKey]map[types.NamespacedName]time.Time
	byRoute  map[types.NamespacedName][]listenerKey
	deciding map[listenerKey]types.NamespacedName
}

func newContention() *contention {
	return &contention{
		at:       map[listenerKey]map[types.NamespacedName]time.Time{},
		byRoute:  map[types.NamespacedName][]listenerKey{},
		deciding: map[listenerKey]types.NamespacedName{},
	}
}

// contenders returns the source that is touched when another route has a listener.
func contenders(key listenerKey) translation.Source {
	return translation.Source{Kind: kindOwnerOf, Namespace: key.Namespace, Name: key.object()}
}

// contend notes the listeners of a route, and has the routes translated again whose listener another one has now.
func (p *Provider) contend(route types.NamespacedName, d *routeDraft, attachments []attachment) {
	c := p.contention
	affected := c.byRoute[route]
	for _, key := range affected {
		delete(c.at[key], route)
	}
	delete(c.byRoute, route)
	for _, to := range attachments {
		key := to.listener.key
		if c.at[key] == nil {
			c.at[key] = map[types.NamespacedName]time.Time{}
		}
		c.at[key][route] = d.created
		c.byRoute[route] = append(c.byRoute[route], key)
		affected = append(affected, key)
	}
	for _, key := range affected {
		first := p.firstAt(key)
		if before, known := c.deciding[key]; known && before != first {
			p.retouch(contenders(key))
		}
		c.deciding[key] = first
		if len(c.at[key]) == 0 {
			delete(c.at, key)
			delete(c.deciding, key)
		}
	}
}

// firstAt returns the route that has a listener: the oldest, and of these the first by name.
func (p *Provider) firstAt(key listenerKey) types.NamespacedName {
	var first types.NamespacedName
	var oldest time.Time
	for route, created := range p.contention.at[key] {
		if first.Name == "" || cmp.Or(created.Compare(oldest), cmp.Compare(route.String(), first.String())) < 0 {
			first, oldest = route, created
		}
	}
	return first
}
