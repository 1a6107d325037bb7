package router

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/rule"
)

// Table is the immutable answer to "which route?" for all entrypoints.
type Table struct {
	entries map[string]*entry
}

// entry is the part of a table that belongs to one entrypoint.
type entry struct {
	entrypoint EntryPoint
	plain      *index.Index[*Route]
	secure     *index.Index[*Route]
	// options holds the TLS options by the hosts that rules name, exact or *.example.com: nil where those that routes want
	// cannot be used. fallback is for the rest.
	options  map[string]*certificate.Options
	fallback *certificate.Options
	// conflicts are routes that want other TLS options for a host than a route before them.
	conflicts []conflict
}

type conflict struct {
	name, other, host string
}

type indexKey struct {
	entrypoint string
	secure     bool
}

func newTable(entrypoints []EntryPoint) *Table {
	table := &Table{entries: make(map[string]*entry, len(entrypoints))}
	for _, entrypoint := range entrypoints {
		table.entries[entrypoint.Name] = &entry{
			entrypoint: entrypoint,
			plain:      index.New[*Route](nil),
			secure:     index.New[*Route](nil),
		}
	}
	return table
}

// with returns a table with some routes exchanged; entries that nothing touches are shared. Without any change it
// returns the same table.
func (t *Table) with(changes map[indexKey]*change, objects *tlsObjects) *Table {
	if len(changes) == 0 && !objects.changed {
		return t
	}
	next := &Table{entries: make(map[string]*entry, len(t.entries))}
	for name, old := range t.entries {
		updated := *old
		if change := changes[indexKey{name, false}]; change != nil {
			updated.plain = old.plain.Update(change.removed, change.added)
		}
		change := changes[indexKey{name, true}]
		if change != nil {
			updated.secure = old.secure.Update(change.removed, change.added)
		}
		if change != nil || objects.changed || old.fallback == nil {
			updated.fallback = objects.fallbacks[name]
			updated.chooseOptions(objects)
		}
		next.entries[name] = &updated
	}
	return next
}

// chooseOptions assigns TLS options to hosts: the first route in order that names a host decides, and a route that
// has others for it is a conflict, whose requests are answered 421.
func (e *entry) chooseOptions(objects *tlsObjects) {
	e.options, e.conflicts = map[string]*certificate.Options{}, nil
	deciders := map[string]string{}
	var broken []string
	for _, route := range e.secure.All() {
		if route.Value.tls == nil {
			broken = append(broken, route.Value.domains...)
			continue
		}
		for _, host := range route.Value.domains {
			chosen, decided := e.options[host]
			if !decided {
				e.options[host], deciders[host] = objects.on(e.entrypoint.Name, route.Value.tls), route.Name
				continue
			}
			if chosen.Fingerprint != route.Value.tls.Fingerprint {
				e.conflicts = append(e.conflicts, conflict{name: route.Name, other: deciders[host], host: host})
			}
		}
	}
	for _, host := range broken {
		if _, decided := e.options[host]; !decided {
			e.options[host] = nil
		}
	}
}

// accepting returns the TLS options of a connection with that server name. Where the host's own ones cannot be used,
// the handshake uses the default ones, and the switch refuses the request.
func (e *entry) accepting(serverName string) *certificate.Options {
	return cmp.Or(e.optionsFor(serverName), e.fallback)
}

// optionsFor returns the TLS options of a host: exact, then the wildcard of one label, then the default ones.
// It returns nil where they cannot be used.
func (e *entry) optionsFor(host string) *certificate.Options {
	if options, known := e.options[host]; known {
		return options
	}
	if parent := rule.WildcardKey(host); parent != "" && len(e.options) > 0 {
		if options, known := e.options["*."+parent]; known {
			return options
		}
	}
	return e.fallback
}

// conflictVerdicts reports routes whose TLS options cannot be selected.
func (t *Table) conflictVerdicts() []dynamic.Verdict {
	var verdicts []dynamic.Verdict
	for _, entry := range t.entries {
		for _, conflict := range entry.conflicts {
			ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: conflict.name}
			verdicts = append(verdicts, dynamic.Verdict{
				Ref: ref, Status: dynamic.Degraded, Code: dynamic.CodeConflictingTLSOptions,
				Reason: fmt.Sprintf("tls.options differ from those of router %q for host %q on entrypoint %q: "+
					"its requests are answered 421", conflict.other, conflict.host, entry.entrypoint.Name),
			})
		}
	}
	slices.SortFunc(verdicts, func(a, b dynamic.Verdict) int { return cmp.Compare(a.Reason, b.Reason) })
	return verdicts
}
