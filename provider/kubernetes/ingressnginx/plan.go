package ingressnginx

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// serverPlan is what the server of a host is, as far as several Ingresses decide about it. It depends on their specs,
// annotations and order alone, and is compared with reflect.DeepEqual: an Ingress is translated anew when a plan that
// it has a part in differs. It is not changed once it is made.
type serverPlan struct {
	Host string
	// First is the Ingress whose annotations the location "/" has that is not declared; zero for none.
	First types.NamespacedName
	// Regex says that all locations are regular expressions.
	Regex bool
	// Locations are in the order in which nginx tries regular expressions. There is always one for "/".
	Locations []location
	// Duplicates are locations that another one of the same name hides. nginx refuses its whole configuration for one of
	// them on a server without regular expressions: /a and /a/ as prefixes are both "/a/". That of the earlier Ingress is
	// kept, or the path that is written longer. Among regular expressions the longer path is tried first.
	Duplicates []location
	// Aliases are more names, ordered; no other Ingress has one of them as its host. AliasOwner is the Ingress that
	// declares them, and AliasFaults say which ones are left out.
	Aliases     []string
	AliasOwner  types.NamespacedName
	AliasFaults []string
	// Twin is the host with or without "www." that is redirected to this one; empty for none.
	Twin string
	// AppRoot is the path to which "/" is redirected; empty for none.
	AppRoot string
	// TLS is the certificate; nil for none. Secured says that requests to the host may be redirected to https, for which
	// the certificate of a wildcard is enough.
	TLS     *tlsPlan
	Secured bool
	// Passthrough says that TLS ends at the endpoints. Wildcard is a host or an alias that prevents that; empty for none.
	Passthrough bool
	Wildcard    string
	// Ciphers are those of the connections of clients; empty for the default.
	Ciphers string
	// ClientTLS and ProxyTLS are the Ingresses with certificates of clients and TLS towards endpoints, of which the
	// first one with a certificate authority counts.
	ClientTLS, ProxyTLS []types.NamespacedName
	// Canaries are the Ingresses that are alternatives of others, in order.
	Canaries []types.NamespacedName
	// Denied is why the whole host is denied; empty when it is not.
	Denied string
}

// tlsPlan says which certificate a host has.
type tlsPlan struct {
	// Owner is the Ingress whose tls section decides.
	Owner types.NamespacedName
	// Named says that the section has the host. Secret is then the Secret's name, which may be empty for the default
	// certificate. Else the first of Candidates whose certificate is valid for the host counts, or the default one.
	Named      bool
	Secret     string
	Candidates []string
}

// location is a location of a server.
type location struct {
	// Name is the path as nginx compares it, or the expression without the leading ^.
	Name  string
	Exact bool
	// Path is the path as the Ingress has it, and Declared its type.
	Path     string
	Declared networkingv1.PathType
	// Owner is the Ingress whose annotations the location has; zero for the "/" of a server that no Ingress is for.
	Owner types.NamespacedName
	// Rule and Index are the place of the path in the Ingress; both are -1 for a "/" that is not declared, whose
	// requests get the owner's default backend, or the global one.
	Rule, Index int
	// Rewrite says that the owner's rewrite-target applies. Plain says that its annotations about redirects and
	// rewriting do not, which is so for a default backend without rules.
	Rewrite, Plain bool
}

// member is an Ingress that says something about a host.
type member struct {
	ingress *networkingv1.Ingress
	options *annotation.Options
}

// surroundings are the other servers.
type surroundings interface {
	// exists reports whether an Ingress that is no canary has a host.
	exists(host string) bool
	// aliased reports whether another host has an alias with a wildcard in front.
	aliased(alias string) bool
	// certified reports whether a host has a certificate of its own.
	certified(host string) bool
}

// planServer returns the server of a host; nil when canaries alone have it, for which there is none. Members are the
// Ingresses that have the host, in order.
func planServer(host string, members []member, others surroundings) *serverPlan {
	if host != anyHost && !slices.ContainsFunc(members, func(m member) bool { return !m.options.Canary.Enabled }) {
		return nil
	}
	plan := &serverPlan{Host: host}
	planner := &planner{plan: plan, members: members, others: others}
	planner.options = map[types.NamespacedName]*annotation.Options{}
	for _, member := range members {
		planner.options[nameOf(member.ingress)] = member.options
	}
	planner.root()
	for _, member := range members {
		planner.firstWins(member)
		if member.options.Canary.Enabled {
			plan.Canaries = append(plan.Canaries, nameOf(member.ingress))
		} else {
			planner.declare(member)
		}
	}
	planner.arrange()
	planner.names()
	plan.Secured = plan.TLS != nil || others.certified(wildcardOf(host))
	planner.passthrough() // Last, since the plans of other hosts that are made on the way have aliases.
	return plan
}

// planner makes one plan.
type planner struct {
	plan    *serverPlan
	members []member
	others  surroundings
	options map[types.NamespacedName]*annotation.Options
	// places has the places of locations that are declared.
	places map[pathKey]int
	// www says that a location has from-to-www-redirect, and snippet that an Ingress has a server-snippet, of which there
	// is one.
	www, snippet bool
}

// pathKey is a path with its type, which one location has.
type pathKey struct {
	path     string
	declared networkingv1.PathType
}

// root adds the location "/" that every server has. It belongs to the first Ingress that is no canary. The server of
// anyHost has it without an Ingress, or with the first one that has a default backend and no rules.
func (p *planner) root() {
	root := location{Name: "/", Path: "/", Declared: networkingv1.PathTypePrefix, Rule: -1, Index: -1}
	for _, member := range p.members {
		if member.options.Canary.Enabled {
			continue
		}
		if p.plan.Host != anyHost {
			root.Owner = nameOf(member.ingress)
			p.plan.First = root.Owner
			break
		}
		_, backed := serviceOf(member.ingress.Namespace, member.ingress.Spec.DefaultBackend)
		if backed && len(member.ingress.Spec.Rules) == 0 {
			root.Owner, root.Plain = nameOf(member.ingress), true
			p.plan.First = root.Owner
			break
		}
	}
	p.plan.Locations = []location{root}
	p.places = map[pathKey]int{{root.Path, root.Declared}: 0}
}

// declare adds the locations of an Ingress. A path that is there already with the same type is not added.
func (p *planner) declare(member member) {
	for i := range member.ingress.Spec.Rules {
		rule := &member.ingress.Spec.Rules[i]
		if hostOf(rule) != p.plan.Host || rule.HTTP == nil {
			continue
		}
		for j := range rule.HTTP.Paths {
			path := &rule.HTTP.Paths[j]
			if path.Backend.Service == nil {
				continue
			}
			p.add(location{
				Path: cmp.Or(path.Path, "/"), Declared: typeOf(path), Owner: nameOf(member.ingress), Rule: i, Index: j,
			}, member.options)
		}
	}
}

func (p *planner) add(added location, options *annotation.Options) {
	added.Name = added.Path
	key := pathKey{added.Path, added.Declared}
	place, found := p.places[key]
	switch {
	case !found:
		p.places[key] = len(p.plan.Locations)
		p.plan.Locations = append(p.plan.Locations, added)
	case p.plan.Locations[place].Rule >= 0 || p.plan.Locations[place].Plain:
		return
	default:
		p.plan.Locations[place] = added
	}
	p.www = p.www || options.Redirect.FromToWWW
}

// typeOf returns the type of a path, which is Exact or Prefix for ingress-nginx.
func typeOf(path *networkingv1.HTTPIngressPath) networkingv1.PathType {
	if path.PathType != nil && *path.PathType == networkingv1.PathTypeExact {
		return networkingv1.PathTypeExact
	}
	return networkingv1.PathTypePrefix
}

// arrange orders the locations, longest paths first, adds an exact location beside each prefix, and finds out whether
// the server has regular expressions.
func (p *planner) arrange() {
	slices.SortStableFunc(p.plan.Locations, func(a, b location) int {
		return cmp.Or(cmp.Compare(len(b.Path), len(a.Path)), cmp.Compare(b.Path, a.Path))
	})
	exact := map[string]bool{}
	for _, location := range p.plan.Locations {
		if location.Declared == networkingv1.PathTypeExact {
			exact[location.Path] = true
		}
	}
	var arranged []location
	for _, location := range p.plan.Locations {
		arranged = append(arranged, p.expand(location, exact[location.Path])...)
	}
	for i := range arranged {
		location := &arranged[i]
		rewrite := p.rewriteOf(location)
		location.Rewrite = rewrite.Target != "" && rewrite.Target != location.Name
		p.plan.Regex = p.plan.Regex || location.Rewrite || rewrite.UseRegex
		p.plan.AppRoot = cmp.Or(p.plan.AppRoot, rewrite.AppRoot)
	}
	p.plan.Locations = nil
	kept := p.keep(arranged)
	for i := range arranged {
		one := &arranged[i]
		hidden := kept[p.keyOf(one)] != one
		if !p.plan.Regex && one.Exact && one.Declared == networkingv1.PathTypePrefix {
			// It belongs to the prefix of the same name.
			below := kept[locationKey{one.Name, false}]
			hidden = hidden || below != nil && !below.samePath(one)
		}
		if hidden {
			p.plan.Duplicates = append(p.plan.Duplicates, *one)
			continue
		}
		p.plan.Locations = append(p.plan.Locations, *one)
	}
}

// locationKey is what no two locations of a server have in common.
type locationKey struct {
	name  string
	exact bool
}

func (p *planner) keyOf(one *location) locationKey {
	return locationKey{one.Name, one.Exact && !p.plan.Regex}
}

// keep returns the locations that are kept: of several with one key the first one, which without regular expressions is
// that of the earliest Ingress.
func (p *planner) keep(arranged []location) map[locationKey]*location {
	order := map[types.NamespacedName]int{}
	for i, member := range p.members {
		order[nameOf(member.ingress)] = i
	}
	kept := map[locationKey]*location{}
	for i := range arranged {
		one := &arranged[i]
		key := p.keyOf(one)
		if before := kept[key]; before == nil || !p.plan.Regex && order[one.Owner] < order[before.Owner] {
			kept[key] = one
		}
	}
	return kept
}

// rewriteOf returns the annotations about rewriting that a location has.
func (p *planner) rewriteOf(location *location) annotation.Rewrite {
	options := p.options[location.Owner]
	if options == nil || location.Plain {
		return annotation.Rewrite{}
	}
	return options.Rewrite
}

// expand returns the locations of a path. A prefix has one that ends in a slash, and an exact one without, unless it
// is the root, an expression or rewritten.
func (p *planner) expand(one location, exact bool) []location {
	if one.Declared == networkingv1.PathTypeExact {
		one.Exact = true
		return []location{one}
	}
	rewrite := p.rewriteOf(&one)
	if one.Path == "/" || rewrite.UseRegex || rewrite.Target != "" && rewrite.Target != one.Path {
		return []location{one}
	}
	below := one
	below.Name = strings.TrimSuffix(one.Path, "/") + "/"
	if exact {
		return []location{below}
	}
	one.Exact = true
	return []location{below, one}
}
