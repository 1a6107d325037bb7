package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/xds/client"
	"github.com/sluiceproxy/sluice/xds/resource"
)

// follower follows listeners, and prints changes or the end result.
type follower struct {
	process *process
	tree    *client.Tree
	names   []string
	json    bool
	// print is set to print each change.
	print bool
	// complete ends the command when everything is known; nil for watch.
	complete func()
	failure  error // of the connection
	raw      map[client.Key]json.RawMessage
}

// Receive implements client.Consumer.
func (f *follower) Receive(response client.Response) error {
	before := maps.Clone(f.tree.Endpoints)
	err := f.tree.Receive(response)
	for _, one := range response.Resources {
		key := client.Key{TypeURL: response.TypeURL, Name: one.Name}
		if f.json {
			f.raw[key], _ = one.JSON() // What cannot be decoded is rejected.
		}
		if f.print {
			f.printChange(key, before[one.Name])
		}
	}
	for _, name := range response.Removed {
		if f.print {
			f.line("%s does not exist", client.Key{TypeURL: response.TypeURL, Name: name})
		}
	}
	f.tree.Follow(f.followed())
	if f.complete != nil && f.done() {
		f.complete()
	}
	return err
}

// Connected implements client.Consumer.
func (f *follower) Connected(err error) {
	f.failure = err
	switch {
	case f.complete != nil && err != nil:
		f.complete()
	case !f.print:
	case err != nil:
		f.line("the connection is lost: %v", err)
	default:
		f.line("connected")
	}
}

// followed returns the names to subscribe to; for all listeners, get has only their names.
func (f *follower) followed() []string {
	if len(f.names) > 0 {
		return f.names
	}
	return []string{client.Wildcard}
}

// done reports whether everything is known, or will not be.
func (f *follower) done() bool {
	if len(f.names) == 0 {
		return len(f.tree.Listeners)+len(f.tree.Rejected) > 0
	}
	return !slices.ContainsFunc(f.names, func(name string) bool {
		missing, ok := f.tree.Missing(name)
		return ok && missing != nil && f.tree.Rejected[*missing] == ""
	})
}

// line prints a line with the time.
func (f *follower) line(format string, values ...any) {
	say(f.process.stdout, "%s %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, values...))
}

// printChange prints a resource that is new or has changed.
func (f *follower) printChange(key client.Key, before *resource.Endpoints) {
	reason, rejected := f.tree.Rejected[key]
	switch {
	case rejected:
		f.line("%s is rejected: %s", key, reason)
	case f.json:
		say(f.process.stdout, "%s\n", f.raw[key])
	case f.tree.Endpoints[key.Name] != nil && strings.HasPrefix(key.String(), "endpoints "):
		f.line("%s: %s", key, endpointChanges(before, f.tree.Endpoints[key.Name]))
	case f.tree.Clusters[key.Name] != nil && strings.HasPrefix(key.String(), "cluster "):
		f.line("%s: %s", key, f.tree.Clusters[key.Name])
	case f.tree.Routes[key.Name] != nil && strings.HasPrefix(key.String(), "route "):
		f.line("%s: %s", key, f.tree.Routes[key.Name])
	default:
		f.line("%s", key)
	}
}

// endpointChanges returns what has changed: all endpoints at first, then those that came (+) and went (-).
func endpointChanges(before, after *resource.Endpoints) string {
	lines := after.Lines()
	if before == nil {
		return fmt.Sprintf("%d: %s", len(lines), strings.Join(lines, ", "))
	}
	var changes []string
	for _, line := range before.Lines() {
		if !slices.Contains(lines, line) {
			changes = append(changes, "-"+line)
		}
	}
	for _, line := range lines {
		if !slices.Contains(before.Lines(), line) {
			changes = append(changes, "+"+line)
		}
	}
	return fmt.Sprintf("%d: %s", len(lines), strings.Join(changes, ", "))
}

// newFollower returns a follower with its client.
func (p *process) newFollower(names []string, flags xdsFlags) (*follower, *client.Client, error) {
	subscriber, err := flags.client()
	if err != nil {
		return nil, nil, err
	}
	f := &follower{
		process: p, tree: client.NewTree(subscriber), names: names, json: *flags.json, raw: map[client.Key]json.RawMessage{},
	}
	f.tree.Follow(f.followed())
	return f, subscriber, nil
}

// xdsWatch prints changes until a signal comes, and returns the exit code.
func (p *process) xdsWatch(names []string, flags xdsFlags) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	f, subscriber, err := p.newFollower(names, flags)
	if err != nil {
		say(p.stderr, "sluice xds watch: %v\n", err)
		return exitBroken
	}
	f.print = true
	subscriber.Run(ctx, f)
	return exitFine
}

// xdsGet prints what is published under the names, and returns the exit code.
func (p *process) xdsGet(names []string, flags xdsFlags, timeout time.Duration) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	f, subscriber, err := p.newFollower(names, flags)
	if err != nil {
		say(p.stderr, "sluice xds get: %v\n", err)
		return exitBroken
	}
	f.complete = cancel
	subscriber.Run(ctx, f)
	if f.failure != nil || len(f.tree.Listeners)+len(f.tree.Rejected) == 0 {
		if f.failure == nil {
			f.failure = fmt.Errorf("%s: no answer within %s", *flags.server, timeout)
		}
		say(p.stderr, "sluice xds get: %v\n", f.failure)
		return exitBroken
	}
	return f.report()
}

// report prints the end result, and returns the exit code.
func (f *follower) report() int {
	if len(f.names) == 0 {
		for _, name := range slices.Sorted(maps.Keys(f.tree.Listeners)) {
			say(f.process.stdout, "%s\n", name)
		}
		return exitFine
	}
	code := exitFine
	for _, name := range f.names {
		missing, ok := f.tree.Missing(name)
		switch {
		case !ok:
			say(f.process.stderr, "sluice xds get: listener %s does not exist\n", name)
		case missing != nil && f.tree.Rejected[*missing] != "":
			say(f.process.stderr, "sluice xds get: %s cannot be read: %s\n", missing, f.tree.Rejected[*missing])
		case missing != nil:
			say(f.process.stderr, "sluice xds get: %s has not been sent in time\n", missing)
		default:
			f.printTree(name)
			continue
		}
		code = exitNone
	}
	return code
}

// printTree prints a listener with what it leads to.
func (f *follower) printTree(listener string) {
	if f.json {
		for _, key := range slices.SortedFunc(maps.Keys(f.raw), func(a, b client.Key) int {
			return strings.Compare(a.String(), b.String())
		}) {
			say(f.process.stdout, "%s\n", f.raw[key])
		}
		clear(f.raw)
		return
	}
	route := f.tree.Listeners[listener]
	say(f.process.stdout, "listener %s\n  route %s: %s\n", listener, route, f.tree.Routes[route])
	for _, name := range f.tree.Routes[route].Clusters() {
		f.printCluster(name, "  ")
	}
}

func (f *follower) printCluster(name, indent string) {
	one := f.tree.Clusters[name]
	say(f.process.stdout, "%scluster %s: %s\n", indent, name, one)
	for _, member := range one.Members {
		f.printCluster(member, indent+"  ")
	}
	if one.Members != nil {
		return
	}
	for _, line := range f.tree.Endpoints[one.Assignment].Lines() {
		say(f.process.stdout, "%s  %s\n", indent, line)
	}
}
