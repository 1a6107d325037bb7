package docker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// maxUnusedLabels is the maximum number of unused labels that are reported for one container.
const maxUnusedLabels = 10

// state is the result of reading all containers.
type state struct {
	config *dynamic.Configuration
	// sets are the endpoints of the services, by key.
	sets map[string][]dynamic.Endpoint
	// objects are all objects of config by reference.
	objects map[dynamic.Ref]any
	// excluded maps the ids of excluded containers to the reason.
	excluded map[string]string
}

// contribution is one container's declaration of an object.
type contribution struct {
	part   *part
	object any
}

// assembler builds one state.
type assembler struct {
	provider *Provider
	out      state
	parts    []*part
	reported map[dynamic.Verdict]bool
	edit     immutable.Edit
}

// assemble builds the state of the containers.
func (p *Provider) assemble() state {
	containers, known := p.containers, len(p.memory.objects)
	where := &lookup{
		containers: containers, network: p.config.Network, bindPort: p.config.UseBindPortIP, host: p.hostAddress,
		leaving: p.leaving,
	}
	a := &assembler{
		provider: p, reported: map[dynamic.Verdict]bool{},
		out: state{
			config:   &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{}},
			sets:     make(map[string][]dynamic.Endpoint, len(p.published)),
			objects:  make(map[dynamic.Ref]any, known),
			excluded: map[string]string{},
		},
	}
	sorted := slices.SortedFunc(maps.Values(containers), func(a, b *container) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
	})
	for _, c := range sorted {
		a.add(c, where)
	}
	a.merge()
	for _, id := range slices.Sorted(maps.Keys(p.uninspected)) {
		a.uninspected(id, p.uninspected[id])
	}
	p.memory.forget(containers)
	return a.out
}

// add adds one container, if it is exposed.
func (a *assembler) add(c *container, where *lookup) {
	excluded, findings := a.provider.exposed(c)
	for _, reason := range findings {
		a.source(c, dynamic.Quarantined, dynamic.CodeInvalidOption, reason)
	}
	for _, reason := range c.declared.Misspelt {
		a.source(c, dynamic.Degraded, dynamic.CodeIneffectiveOption, reason)
	}
	if excluded == notEnabled && c.declares() && len(findings) == 0 {
		a.source(c, dynamic.Degraded, dynamic.CodeIneffectiveOption, "its labels have no effect: "+notEnabled)
	}
	if excluded != "" {
		if excluded == notEnabled { // Traefik v1 exposed containers by labels of its own.
			a.stray(c, func(label string) bool { return dynamic.LabelOfV1(label) != "" })
		}
		a.out.excluded[c.id] = excluded
		return
	}
	a.stray(c, func(string) bool { return true })
	one := a.provider.part(c, where)
	if one == nil {
		a.out.excluded[c.id] = notReachable
		return
	}
	a.parts = append(a.parts, one)
	for i, reason := range c.declared.Wrong {
		if i > 0 || len(one.objects) == 0 { // Otherwise the verdict on the objects contains the first one.
			a.source(c, dynamic.Quarantined, dynamic.CodeInvalidOption, reason)
		}
	}
}

// stray reports the selected labels of a container that have no effect. A container that can't be reached is included,
// since its port may be in a label of Traefik v1.
func (a *assembler) stray(c *container, selected func(label string) bool) {
	stray := slices.DeleteFunc(slices.Clone(c.declared.Stray), func(label string) bool {
		return a.provider.constraints.Mentions(label) || !selected(label)
	})
	for i, written := range stray {
		if i == maxUnusedLabels {
			a.source(c, dynamic.Degraded, dynamic.CodeIneffectiveOption,
				fmt.Sprintf("%d more labels have no effect", len(stray)-maxUnusedLabels))
			break
		}
		a.source(c, dynamic.Degraded, dynamic.CodeIneffectiveOption,
			"label "+written+" has no effect"+dynamic.LabelOfV1(written))
	}
}

// source reports a problem that belongs to no object, or to one that another container declares correctly. It is
// reported once for all containers of a Compose service.
func (a *assembler) source(c *container, status dynamic.Status, code dynamic.Code, reason string) {
	once := dynamic.Verdict{
		Ref: dynamic.Ref{Kind: dynamic.KindSource, Name: c.service()}, Status: status, Code: code, Reason: reason,
	}
	if a.reported[once] {
		return
	}
	a.reported[once] = true
	a.out.config.Verdicts = append(a.out.config.Verdicts, dynamic.Verdict{
		Ref:    dynamic.Ref{Kind: dynamic.KindSource, Name: c.name},
		Origin: dynamic.Origin{Object: c.origin()}, Status: status, Code: code, Reason: reason,
	})
}

// uninspected reports a container that cannot be inspected.
func (a *assembler) uninspected(id, reason string) {
	name := short(id)
	reason = "it can't be inspected: " + reason
	if known := a.provider.containers[id]; known != nil {
		name, reason = known.name, reason+"; its last state stays in use"
	}
	a.out.config.Verdicts = append(a.out.config.Verdicts, dynamic.Verdict{
		Ref: dynamic.Ref{Kind: dynamic.KindSource, Name: name}, Origin: dynamic.Origin{Object: "container " + name},
		Status: dynamic.Quarantined, Code: dynamic.CodeUnreadableSource, Reason: reason,
	})
}

// verdict reports a problem with an object, once for all containers that declare it alike.
func (a *assembler) verdict(
	ref dynamic.Ref, c *container, status dynamic.Status, code dynamic.Code, reason string,
) {
	once := dynamic.Verdict{Ref: ref, Status: status, Code: code, Reason: reason}
	if a.reported[once] {
		return
	}
	a.reported[once] = true
	once.Origin = dynamic.Origin{Object: c.origin()}
	a.out.config.Verdicts = append(a.out.config.Verdicts, once)
}

// merge combines the contributions to each object.
func (a *assembler) merge() {
	all := make(map[dynamic.Ref][]contribution, len(a.provider.memory.objects))
	for _, one := range a.parts {
		for ref, object := range one.objects {
			all[ref] = append(all[ref], contribution{one, object})
		}
	}
	refs := slices.SortedFunc(maps.Keys(all), func(a, b dynamic.Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	builder := dynamic.NewBuilder(a.out.config)
	for _, ref := range refs {
		good, object := a.agree(ref, all[ref])
		if balances(object) {
			object = a.balance(ref, object, good)
		}
		object = a.provider.memory.keep(ref, object)
		a.out.objects[ref] = object
		builder.Put(ref, object)
	}
	built := builder.Configuration()
	a.out.config.HTTP, a.out.config.TCP, a.out.config.UDP, a.out.config.TLS = built.HTTP, built.TCP, built.UDP, built.TLS
}

// agree returns the containers whose declaration of an object is used, and the object. Invalid declarations are left
// out; without a valid one, all containers count, since the last valid definition may stay in use. Different
// declarations are a conflict, since none of them takes precedence.
func (a *assembler) agree(ref dynamic.Ref, from []contribution) (good []*part, object any) {
	var declared []contribution
	for _, one := range from {
		if len(one.part.reasons(ref)) == 0 {
			declared = append(declared, one)
		}
	}
	for _, one := range from {
		for _, reason := range one.part.reasons(ref) {
			if len(declared) == 0 {
				a.verdict(ref, one.part.container, dynamic.Quarantined, dynamic.CodeInvalidOption, reason)
			} else {
				a.source(one.part.container, dynamic.Quarantined, dynamic.CodeInvalidOption, ref.String()+": "+reason)
			}
		}
	}
	first := from[0]
	if len(declared) > 0 {
		first = declared[0]
	}
	a.out.config.Origins.Set(&a.edit, ref, dynamic.Origin{Object: first.part.declarer})
	if len(declared) == 0 {
		for _, one := range from {
			good = append(good, one.part)
		}
	}
	for _, one := range declared {
		if one.object != first.object && !dynamic.Equal(one.object, first.object) {
			a.verdict(ref, first.part.container, dynamic.Quarantined, dynamic.CodeConflictingName,
				"is declared otherwise by "+one.part.container.origin())
			return nil, first.object
		}
		good = append(good, one.part)
		if doubt := one.part.doubts[ref]; doubt != "" {
			a.verdict(ref, one.part.container, dynamic.Degraded, dynamic.CodeInvalidOption, doubt)
		}
	}
	return good, first.object
}

// balance returns the service with its servers. They are an endpoint set if they differ only in their addresses, and a
// list if labels give weights, URLs, or different schemes.
func (a *assembler) balance(ref dynamic.Ref, object any, parts []*part) any {
	var members []member
	for _, one := range parts {
		if member, ok := one.members[ref]; ok {
			members = append(members, member)
		}
	}
	slices.SortStableFunc(members, func(a, b member) int { return a.endpoint.Address.Compare(b.endpoint.Address) })
	key := keyOf(ref)
	if alike(members) {
		a.out.sets[key] = endpoints(members)
		return balanced(object, key, a.schemeOf(ref, members, parts), nil)
	}
	if a.provider.published[key] != nil {
		a.out.sets[key] = endpoints(members) // The active table may still use it.
	}
	return balanced(object, "", "", staying(members))
}

// keyOf returns the key of the endpoint set of a service. Names of services have no @.
func keyOf(ref dynamic.Ref) string {
	switch ref.Kind {
	case dynamic.KindTCPService:
		return Name + "/" + ref.Name + "@tcp"
	case dynamic.KindUDPService:
		return Name + "/" + ref.Name + "@udp"
	}
	return Name + "/" + ref.Name
}

// balanced returns a copy of a service with an endpoint set and the scheme for it, or else with a list of servers.
func balanced(object any, key, scheme string, listed []member) any {
	switch service := object.(type) {
	case *dynamic.TCPService:
		balancer := *service.LoadBalancer
		balancer.EndpointSet, balancer.TLS = key, scheme == schemeTLS
		for _, one := range distinct(listed) {
			balancer.Servers = append(balancer.Servers, dynamic.TCPServer{
				Address: one.endpoint.Address.String(), TLS: one.scheme == schemeTLS, Weight: &one.weight,
			})
		}
		return &dynamic.TCPService{LoadBalancer: &balancer}
	case *dynamic.UDPService:
		balancer := *service.LoadBalancer
		balancer.EndpointSet = key
		for _, one := range distinct(listed) {
			balancer.Servers = append(balancer.Servers, dynamic.UDPServer{
				Address: one.endpoint.Address.String(), Weight: &one.weight,
			})
		}
		return &dynamic.UDPService{LoadBalancer: &balancer}
	}
	out := *object.(*dynamic.Service)
	balancer := *out.LoadBalancer
	out.LoadBalancer = &balancer
	balancer.EndpointSet, balancer.Scheme = key, scheme
	known := map[string]bool{}
	for _, one := range listed {
		if server := one.listed(); !known[server.URL] {
			known[server.URL] = true
			balancer.Servers = append(balancer.Servers, server)
		}
	}
	return &out
}

// distinct returns the first member of each address; members are sorted by their addresses.
func distinct(members []member) []member {
	return slices.CompactFunc(slices.Clone(members), func(a, b member) bool {
		return a.endpoint.Address == b.endpoint.Address
	})
}

// staying leaves out the members that are about to stop, as long as others serve: a list cannot express draining.
func staying(members []member) []member {
	leaving := func(one member) bool { return one.endpoint.Terminating }
	if !slices.ContainsFunc(members, func(one member) bool { return !leaving(one) && one.weight > 0 }) {
		return members
	}
	return slices.DeleteFunc(slices.Clone(members), leaving)
}

// schemeOf returns the scheme of the members, or without members the one in the labels.
func (a *assembler) schemeOf(ref dynamic.Ref, members []member, parts []*part) string {
	if len(members) > 0 {
		return members[0].scheme
	}
	scheme := defaultScheme(ref.Kind)
	for _, one := range parts {
		if declared, _, _ := newMember(one.labels, ref); declared.scheme != scheme {
			return declared.scheme
		}
	}
	return scheme
}

// alike reports whether members differ only in their addresses, and all of them serve.
func alike(members []member) bool {
	for _, one := range members {
		if one.server != nil || one.scheme != members[0].scheme || one.weight != members[0].weight || one.weight < 1 {
			return false
		}
	}
	return true
}

// listed returns the member as a server in a list.
func (m member) listed() dynamic.Server {
	if m.server != nil {
		return *m.server
	}
	weight := m.weight
	return dynamic.Server{URL: m.scheme + "://" + m.endpoint.Address.String(), Weight: &weight}
}

// endpoints returns the addresses of the members, sorted, without duplicates.
func endpoints(members []member) []dynamic.Endpoint {
	out := make([]dynamic.Endpoint, 0, len(members))
	for _, one := range members {
		if one.server == nil && (len(out) == 0 || out[len(out)-1].Address != one.endpoint.Address) {
			out = append(out, one.endpoint)
		}
	}
	return out
}
