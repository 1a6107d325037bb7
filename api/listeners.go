package api

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// listenerRow is an entrypoint that a provider declares; it is used by the routers that name it.
type listenerRow struct {
	object
	listener *dynamic.Listener
}

// listenerJSON is a listener; Traefik's API has none.
type listenerJSON struct {
	objectJSON
	Address  string                   `json:"address"`
	Protocol dynamic.ListenerProtocol `json:"protocol"`
	Hostname string                   `json:"hostname,omitempty"`
	// Port is the port that clients use, where it is not that of the address.
	Port int `json:"port,omitempty"`
	// Template is the entrypoint whose options apply.
	Template string `json:"template,omitempty"`
	// Owner says where the listener is declared, such as a Gateway.
	Owner string `json:"owner,omitempty"`
}

// declaredListeners returns the listeners of a configuration.
func declaredListeners(configuration *dynamic.Configuration) dynamic.Objects[dynamic.Listener] {
	return cmp.Or(configuration.Listeners, &dynamic.ListenersConfiguration{}).Listeners
}

// with adds the declared listeners that have or do not have datagrams, with the options of their templates.
func (l listeners) with(declared dynamic.Objects[dynamic.Listener], config *static.Configuration, datagrams bool,
) listeners {
	l.known = maps.Clone(l.known)
	for name, listener := range declared.All() {
		if (listener.Protocol == dynamic.ListenerUDP) != datagrams {
			continue
		}
		template := config.EntryPoints[listener.Template]
		if template == nil {
			template = &static.EntryPoint{}
			template.SetDefaults()
		}
		l.known[name] = template
	}
	return l
}

// listenerRows lists the declared listeners with the routers of them.
func listenerRows(configuration *dynamic.Configuration, statuses map[dynamic.Ref]objectStatus) table[*listenerRow] {
	declared := declaredListeners(configuration)
	if declared.Len() == 0 {
		return newTable[*listenerRow](nil)
	}
	users := map[string][]string{}
	note := func(by string, entryPoints []string) {
		for _, name := range entryPoints {
			if declared.Get(name) != nil {
				users[name] = append(users[name], by)
			}
		}
	}
	if configuration.HTTP != nil {
		for name, router := range configuration.HTTP.Routers.All() {
			note(name, router.EntryPoints)
		}
	}
	if configuration.TCP != nil {
		for name, router := range configuration.TCP.Routers.All() {
			note(name, router.EntryPoints)
		}
	}
	if configuration.UDP != nil {
		for name, router := range configuration.UDP.Routers.All() {
			note(name, router.EntryPoints)
		}
	}
	rows := make([]*listenerRow, 0, declared.Len())
	for _, name := range slices.Sorted(declared.Keys()) {
		listener := declared.Get(name)
		row := &listenerRow{
			object:   newObject(dynamic.KindListener, name, statuses, listener.Address, listener.Hostname),
			listener: listener,
		}
		row.usedBy = slices.Compact(slices.Sorted(slices.Values(users[name])))
		rows = append(rows, row)
	}
	return newTable(rows)
}

func (h *handler) showListener(r *listenerRow) any {
	shown := listenerJSON{
		objectJSON: r.named(), Address: r.listener.Address, Protocol: r.listener.Protocol, Hostname: r.listener.Hostname,
		Port: r.listener.Port, Template: r.listener.Template,
	}
	if state := h.options.State.State(); state != nil {
		shown.Owner = state.Origin(dynamic.Ref{Kind: dynamic.KindListener, Name: r.name}).String()
	}
	return shown
}

// orderListeners returns the comparison for a sort key of listeners, or nil.
func orderListeners(by string) func(a, b *listenerRow) int {
	switch by {
	case "address":
		return func(a, b *listenerRow) int { return cmp.Compare(a.listener.Address, b.listener.Address) }
	case "hostname":
		return func(a, b *listenerRow) int { return cmp.Compare(a.listener.Hostname, b.listener.Hostname) }
	case "protocol":
		return func(a, b *listenerRow) int { return cmp.Compare(a.listener.Protocol, b.listener.Protocol) }
	case "routers":
		return func(a, b *listenerRow) int { return cmp.Compare(len(a.usedBy), len(b.usedBy)) }
	}
	return nil
}
