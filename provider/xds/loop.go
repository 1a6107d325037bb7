package xds

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typeurl "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
	"github.com/sluiceproxy/sluice/xds/client"
	"github.com/sluiceproxy/sluice/xds/resource"
)

// setsKept is how long endpoint sets are kept that nothing refers to any more.
const setsKept = 10 * time.Second

// loop is the state of Provider.Provide.
type loop struct {
	provider *Provider
	client   *client.Client

	// What has been read, by name. A resource that is rejected or removed leaves the one before.
	listeners map[string]string // the name of the route
	routes    map[string]*resource.Routing
	clusters  map[string]*resource.Cluster
	endpoints map[string]*resource.Endpoints
	// rejected are the reasons for which resources were rejected.
	rejected map[resourceKey]string

	output   output
	changed  bool                           // something but endpoint sets
	sets     map[string]dynamic.EndpointSet // to send, by key
	known    map[string]time.Time           // the keys that were sent, and since when they are not needed
	started  bool
	reported string            // the state that was sent last
	results  map[string]result // of listeners, to note when the message has been sent
}

// resourceKey identifies a resource.
type resourceKey struct{ typeURL, name string }

// result is what is known of a listener.
type result struct {
	status status
	reason string
}

func newLoop(p *Provider, subscriber *client.Client) *loop {
	return &loop{
		provider: p, client: subscriber,
		listeners: map[string]string{}, routes: map[string]*resource.Routing{}, clusters: map[string]*resource.Cluster{},
		endpoints: map[string]*resource.Endpoints{}, rejected: map[resourceKey]string{},
		output: newOutput(p.config.Address), sets: map[string]dynamic.EndpointSet{}, known: map[string]time.Time{},
	}
}

// take takes what the client has received.
func (l *loop) take(next event) {
	if next.response == nil {
		l.connected(next.failed)
		return
	}
	next.reply <- l.receive(*next.response)
}

// connected notes whether there is a stream.
func (l *loop) connected(failure error) {
	if failure != nil && l.provider.names.failed() == nil {
		l.provider.logger.Warn("the xDS server cannot be reached; what is known stays in use", "error", failure)
	} else if failure == nil && l.started {
		l.provider.logger.Info("the xDS server is reached again", "address", l.provider.config.Address)
	}
	l.provider.names.connected(failure)
}

// receive takes a response. What can be read of it is used; the error names the rest.
func (l *loop) receive(response client.Response) error {
	var problems []error
	now := time.Now()
	for _, one := range response.Resources {
		key := resourceKey{response.TypeURL, one.Name}
		err := l.read(one, response.TypeURL, now)
		if err == nil {
			delete(l.rejected, key)
			continue
		}
		l.rejected[key] = err.Error()
		problems = append(problems, fmt.Errorf("%s: %w", one.Name, err))
	}
	for _, name := range response.Removed {
		delete(l.rejected, resourceKey{response.TypeURL, name})
		if response.TypeURL == typeurl.ListenerType {
			l.listeners[name] = "" // It is known that there is none.
		}
	}
	l.changed = l.changed || response.TypeURL != typeurl.EndpointType || len(problems) > 0
	return errors.Join(problems...)
}

// read reads one resource.
func (l *loop) read(one client.Resource, typeURL string, now time.Time) (err error) {
	switch typeURL {
	case typeurl.ListenerType:
		return store(l.listeners, one, resource.ReadListener, new(listenerv3.Listener))
	case typeurl.RouteType:
		return store(l.routes, one, resource.ReadRoute, new(routev3.RouteConfiguration))
	case typeurl.ClusterType:
		return store(l.clusters, one, resource.ReadCluster, new(clusterv3.Cluster))
	case typeurl.EndpointType:
		l.changed = l.changed || l.endpoints[one.Name] == nil // A listener may be complete now.
		if err := store(l.endpoints, one, resource.ReadAssignment, new(endpointv3.ClusterLoadAssignment)); err != nil {
			return err
		}
		return l.readSet(one.Name, now)
	}
	return fmt.Errorf("resources of the type %s are not read", typeURL)
}

// readSet sends on the endpoints of an EDS resource that is one endpoint set. Those of the others are servers.
func (l *loop) readSet(name string, now time.Time) error {
	if l.clusters[name] != nil && l.clusters[name].Assignment == name {
		l.changed = true
		return nil
	}
	endpoints, err := l.endpoints[name].Set()
	if err != nil {
		return err
	}
	slices.SortFunc(endpoints, func(a, b dynamic.Endpoint) int { return a.Address.Compare(b.Address) })
	l.sets[setKey(name)] = dynamic.EndpointSet{Key: setKey(name), Endpoints: endpoints, Noticed: now}
	return nil
}

// subscribe subscribes to what the listeners lead to, and forgets everything else.
func (l *loop) subscribe() {
	listeners, routes := set(l.provider.names.list()), map[string]bool{}
	keep(l.listeners, listeners)
	for _, route := range l.listeners {
		if route != "" {
			routes[route] = true
		}
	}
	keep(l.routes, routes)
	clusters, assignments := map[string]bool{}, map[string]bool{}
	for _, one := range l.routes {
		l.follow(one.Clusters(), clusters, assignments)
	}
	keep(l.clusters, clusters)
	keep(l.endpoints, assignments)
	for typeURL, names := range map[string]map[string]bool{
		typeurl.ListenerType: listeners, typeurl.RouteType: routes, typeurl.ClusterType: clusters,
		typeurl.EndpointType: assignments,
	} {
		l.client.Subscribe(typeURL, slices.Sorted(maps.Keys(names)))
		maps.DeleteFunc(l.rejected, func(key resourceKey, _ string) bool {
			return key.typeURL == typeURL && !names[key.name]
		})
	}
}

// follow adds clusters, with those that they are aggregated of, and their EDS resources.
func (l *loop) follow(names []string, clusters, assignments map[string]bool) {
	for _, name := range names {
		if clusters[name] {
			continue
		}
		clusters[name] = true
		if one := l.clusters[name]; one != nil {
			l.follow(one.Members, clusters, assignments)
			if one.Assignment != "" {
				assignments[one.Assignment] = true
			}
		}
	}
}

// build makes the objects of all listeners whose resources are complete; of others the last ones stay.
func (l *loop) build() {
	l.changed = false
	listeners := set(l.provider.names.list())
	keep(l.output.listeners, listeners)
	l.output.handled, l.results = listeners, map[string]result{}
	for listener := range listeners {
		next, found := l.objectsOf(listener)
		switch _, before := l.output.listeners[listener]; {
		case found.status == present:
			l.output.listeners[listener] = next
		case found.status == absent:
			delete(l.output.listeners, listener)
		case before:
			found = result{status: present}
		}
		l.results[listener] = found
	}
	l.output.assemble()
}

// step returns the message that is due, if any.
func (l *loop) step() (dynamic.Message, bool) {
	if l.changed || l.output.lacks(l.provider.names.list()) {
		l.subscribe()
		l.build()
	}
	if !l.started && (l.provider.names.failed() != nil || !l.answered()) {
		return l.waiting()
	}
	message := dynamic.Message{State: dynamic.StateSynced, Reason: l.reason()}
	message.Endpoints = slices.Collect(maps.Values(l.sets))
	configuration, changed := l.output.configuration(l.verdicts())
	if changed || !l.started {
		message.Configuration = configuration
	}
	due := message.Configuration != nil || len(message.Endpoints) > 0 || message.Reason != l.reported
	l.started, l.reported = true, message.Reason
	if !due {
		l.sent() // Listeners that do not exist need no message.
	}
	return message, due
}

// answered reports whether the configured listeners are known.
func (l *loop) answered() bool {
	return !slices.ContainsFunc(l.provider.config.Names, func(listener string) bool {
		return l.results[listener].status == pending
	})
}

// waiting returns the message that says why there is no first state yet.
func (l *loop) waiting() (dynamic.Message, bool) {
	reason := l.reason()
	if reason == l.reported {
		return dynamic.Message{}, false
	}
	l.reported = reason
	return dynamic.Message{State: dynamic.StatePending, Reason: reason}, true
}

// reason says what is wrong with the source; empty when all is well.
func (l *loop) reason() string {
	if failure := l.provider.names.failed(); failure != nil {
		return "what is known stays in use: " + failure.Error()
	}
	return ""
}

// sent notes that the last message has been sent: requests may go on.
func (l *loop) sent() {
	for key, one := range l.sets {
		if one.Deleted {
			delete(l.known, key)
		} else {
			l.known[key] = time.Time{}
		}
	}
	clear(l.sets)
	for listener, one := range l.results {
		l.provider.names.set(listener, one.status, one.reason)
	}
	l.results = nil
}

// verdicts returns one on each rejected resource, in order.
func (l *loop) verdicts() []dynamic.Verdict {
	var all []dynamic.Verdict
	for key, reason := range l.rejected {
		all = append(all, dynamic.Verdict{
			Ref:    dynamic.Ref{Kind: dynamic.KindSource, Name: "xds " + shortType(key.typeURL) + " " + key.name},
			Origin: dynamic.Origin{Object: l.provider.config.Address}, Status: dynamic.Quarantined,
			Code:   dynamic.CodeInvalidSource,
			Reason: "the resource is rejected, and the last one stays in use: " + reason,
		})
	}
	slices.SortFunc(all, func(a, b dynamic.Verdict) int { return strings.Compare(a.Ref.Name, b.Ref.Name) })
	return all
}

// dropIdle drops listeners that have had no requests for a while.
func (l *loop) dropIdle(now time.Time) {
	requests := map[string]uint64{}
	if usage := l.provider.usage; usage != nil {
		var routers []string
		for _, listener := range l.provider.names.list() {
			routers = append(routers, listener+"@"+Name)
		}
		for _, one := range usage.Traffic(metrics.TrafficRouters, routers) {
			requests[strings.TrimSuffix(one.Name, "@"+Name)] = one.Requests
		}
	}
	count := func(listener string) uint64 { return requests[listener] }
	if l.provider.names.drop(now, time.Duration(l.provider.config.IdleTimeout), count) {
		l.changed = true
	}
	l.dropSets(now)
}

// dropSets deletes the endpoint sets that have not been needed for a while: a table may still refer to them before.
func (l *loop) dropSets(now time.Time) {
	needed := l.output.needs()
	for key, since := range l.known {
		switch {
		case needed[key]:
			l.known[key] = time.Time{}
		case since.IsZero():
			l.known[key] = now
		case now.Sub(since) >= setsKept:
			l.sets[key] = dynamic.EndpointSet{Key: key, Deleted: true}
		}
	}
}

// set returns names as a set.
func set(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// keep deletes what is not in a set.
func keep[V any](from map[string]V, names map[string]bool) {
	maps.DeleteFunc(from, func(name string, _ V) bool { return !names[name] })
}

// store reads a resource and keeps the result; an error leaves the one before.
func store[M proto.Message, V any](to map[string]V, from client.Resource, read func(M) (V, error), message M) error {
	if err := from.Content.UnmarshalTo(message); err != nil {
		return err
	}
	value, err := read(message)
	if err == nil {
		to[from.Name] = value
	}
	return err
}

func shortType(typeURL string) string {
	switch typeURL {
	case typeurl.ListenerType:
		return "listener"
	case typeurl.RouteType:
		return "route"
	case typeurl.ClusterType:
		return "cluster"
	}
	return "endpoints"
}
