package xds

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	typeurl "github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
	"github.com/sluiceproxy/sluice/xds/client"
)

// setsKept is how long endpoint sets are kept that nothing refers to any more.
const setsKept = 10 * time.Second

// loop is the state of Provider.Provide.
type loop struct {
	provider *Provider
	tree     *client.Tree
	output   output
	changed  bool                           // something but endpoint sets
	sets     map[string]dynamic.EndpointSet // to send, by key
	known    map[string]time.Time           // the keys that were sent, and since when they are not needed
	started  bool
	reported string            // the state that was sent last
	results  map[string]result // of listeners, to note when the message has been sent
}

// result is what is known of a listener.
type result struct {
	status status
	reason string
}

func newLoop(p *Provider, subscriber client.Subscriber) *loop {
	return &loop{
		provider: p, tree: client.NewTree(subscriber), output: newOutput(p.config.Address),
		sets: map[string]dynamic.EndpointSet{}, known: map[string]time.Time{},
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
	if response.TypeURL != typeurl.EndpointType {
		l.changed = true
		return l.tree.Receive(response)
	}
	for _, one := range response.Resources {
		l.changed = l.changed || l.tree.Endpoints[one.Name] == nil // A listener may be complete now.
	}
	problems := []error{l.tree.Receive(response)}
	now := time.Now()
	for _, one := range response.Resources {
		if l.tree.Endpoints[one.Name] != nil && l.tree.Rejected[client.Key{TypeURL: response.TypeURL, Name: one.Name}] == "" {
			problems = append(problems, l.readSet(one.Name, now))
		}
	}
	err := errors.Join(problems...)
	l.changed = l.changed || err != nil
	return err
}

// readSet sends on the endpoints of an EDS resource that is one endpoint set. Those of the others are servers.
func (l *loop) readSet(name string, now time.Time) error {
	if l.tree.Clusters[name] != nil && l.tree.Clusters[name].Assignment == name {
		l.changed = true
		return nil
	}
	endpoints, err := l.tree.Endpoints[name].Set()
	if err != nil {
		l.tree.Reject(client.Key{TypeURL: typeurl.EndpointType, Name: name}, err)
		return fmt.Errorf("%s: %w", name, err)
	}
	slices.SortFunc(endpoints, func(a, b dynamic.Endpoint) int { return a.Address.Compare(b.Address) })
	l.sets[setKey(name)] = dynamic.EndpointSet{Key: setKey(name), Endpoints: endpoints, Noticed: now}
	return nil
}

// build makes the objects of all listeners whose resources are complete; of others the last ones stay.
func (l *loop) build() {
	l.changed = false
	listeners := set(l.provider.names.list())
	maps.DeleteFunc(l.output.listeners, func(listener string, _ built) bool { return !listeners[listener] })
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
		l.tree.Follow(l.provider.names.list())
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
	for key, reason := range l.tree.Rejected {
		all = append(all, dynamic.Verdict{
			Ref:    dynamic.Ref{Kind: dynamic.KindSource, Name: "xds " + key.String()},
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
