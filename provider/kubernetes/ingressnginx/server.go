package ingressnginx

import (
	"reflect"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// planOf returns the plan of a host; nil when no Ingress has it. A source that calls it needs planSource(host).
func (p *Provider) planOf(host string) *serverPlan {
	if known := p.plans[host]; known != nil || p.making[host] {
		return known
	}
	plan, _ := p.makePlan(host, &translation.Result{})
	p.see(host, plan)
	return plan
}

// see keeps the plan of a host, nil for none, and has what depends on it translated again when it is another one.
func (p *Provider) see(host string, next *serverPlan) {
	before := p.plans[host]
	switch {
	case next == nil && before == nil:
		return
	case next == nil:
		delete(p.plans, host)
	case before != nil && reflect.DeepEqual(before, next):
		return
	default:
		p.plans[host] = next
	}
	if !slices.Equal(before.leading(), next.leading()) {
		p.seeAliases(host, before, next)
	}
	if before != nil || p.memory.Needed(planSource(host)) {
		p.retouch(planSource(host))
	}
}

// seeAliases keeps which hosts have an alias with a wildcard in front, and has the plans made again that depend on it.
func (p *Provider) seeAliases(host string, before, next *serverPlan) {
	for _, alias := range before.leading() {
		delete(p.aliases[alias], host)
	}
	for _, alias := range next.leading() {
		if p.aliases[alias] == nil {
			p.aliases[alias] = map[string]struct{}{}
		}
		p.aliases[alias][host] = struct{}{}
	}
	for _, alias := range slices.Concat(before.leading(), next.leading()) {
		if len(p.aliases[alias]) == 0 {
			delete(p.aliases, alias)
		}
		if p.memory.Needed(planSource(alias)) {
			p.retouch(planSource(alias))
		}
	}
}

// makePlan returns the plan of a host with its Ingresses, in order, and adds what it depends on to a result.
func (p *Provider) makePlan(host string, result *translation.Result) (*serverPlan, []*networkingv1.Ingress) {
	p.making[host] = true
	defer delete(p.making, host)
	result.Needs = append(result.Needs, settingsInForceSource())
	ingresses := p.claimed(p.index.ofHost(host), result)
	if len(ingresses) == 0 && host != anyHost {
		return nil, nil
	}
	members := make([]member, len(ingresses))
	for i, ingress := range ingresses {
		members[i] = member{ingress, p.read(ingress).options}
	}
	return planServer(host, members, others{p, host, result}), ingresses
}

// others are the servers of other hosts than one, for a result that then depends on them.
type others struct {
	provider *Provider
	host     string
	result   *translation.Result
}

func (n others) exists(host string) bool { return n.planOf(host) != nil }

func (n others) aliased(alias string) bool {
	n.result.Needs = append(n.result.Needs, planSource(alias))
	hosts := n.provider.aliases[alias]
	_, own := hosts[n.host]
	return len(hosts) > 1 || len(hosts) == 1 && !own
}

func (n others) certified(host string) bool {
	plan := n.planOf(host)
	return plan != nil && plan.TLS != nil
}

func (n others) planOf(host string) *serverPlan {
	n.result.Needs = append(n.result.Needs, planSource(host))
	return n.provider.planOf(host)
}

// translateServer makes the plan of a host, has the Ingresses translated again that have a part in it when it is
// another one, and returns what belongs to the host and to no path of an Ingress.
func (p *Provider) translateServer(host string) (result translation.Result, ok bool) {
	plan, ingresses := p.makePlan(host, &result)
	p.see(host, plan)
	if plan == nil {
		return result, len(result.Needs) > 0
	}
	result.Origin = dynamic.Origin{Object: "server " + host}
	options := p.defaults
	if len(ingresses) > 0 {
		result.Origin = originOf(ingresses[0])
	}
	if first := p.watches.Ingress(plan.First.Namespace, plan.First.Name); first != nil {
		result.Origin, options = originOf(first), p.read(first).options
	}
	d := &serverDraft{provider: p, plan: plan, options: options, result: &result}
	d.appRoot()
	d.twin()
	d.blocked()
	d.root()
	for _, duplicate := range plan.Duplicates {
		result.Degrade(dynamic.Ref{Kind: dynamic.KindSource, Name: result.Origin.Object}, dynamic.CodeConflictingName,
			"the path "+duplicate.Path+" of "+duplicate.Owner.String()+" is the same location of "+host+
				" as another one, for which nginx refuses its configuration; it is left out", false)
	}
	backend.Divide(&result, p.divided())
	return result, true
}

// serverDraft is the translation of a host while it is made.
type serverDraft struct {
	provider *Provider
	plan     *serverPlan
	// options are those of the first Ingress, or the defaults.
	options *annotation.Options
	result  *translation.Result
}

// root declares the location "/" that no Ingress has.
func (d *serverDraft) root() {
	for place := range d.plan.Locations {
		if one := &d.plan.Locations[place]; one.Owner == (types.NamespacedName{}) {
			d.location(nil, d.provider.defaults, place, 1)
		}
	}
}

// location declares the routers of a location, and of those behind it that have the same path of an Ingress.
func (d *serverDraft) location(
	ingress *networkingv1.Ingress, options *annotation.Options, place, count int,
) {
	draft := &locationDraft{
		provider: d.provider, ingress: ingress, options: options, server: d.plan, place: place, count: count,
		result: d.result, name: nameOfPath(d.plan.Host, &d.plan.Locations[place]),
	}
	draft.translate()
}

// ingressDraft is the translation of an Ingress while it is made.
type ingressDraft struct {
	provider *Provider
	ingress  *networkingv1.Ingress
	options  *annotation.Options
	result   *translation.Result
}

// whole is what a finding belongs to that concerns no single router.
func (d *ingressDraft) whole() dynamic.Ref {
	return dynamic.Ref{Kind: dynamic.KindSource, Name: d.result.Origin.Object}
}

// report adds verdicts on annotations without the effect that they have in ingress-nginx, or that they should have.
// Those that close locations are verdicts on the routers.
func (d *ingressDraft) report(findings []annotation.Finding) {
	for i := range findings {
		one := &findings[i]
		if one.Verdict == annotation.Ignored || one.Verdict == annotation.Unsupported && !one.Protects {
			d.result.Degrade(d.whole(), dynamic.CodeUnsupportedOption, one.Key+": "+one.Reason, false)
		} else if one.AboveRisk && one.Verdict < annotation.Unsupported {
			d.result.Degrade(d.whole(), dynamic.CodeUnsupportedOption, one.Key+": ingress-nginx accepts no Ingress with it at "+
				"the ConfigMap's annotations-risk-level; it is honoured here", false)
		}
	}
}

// server declares the locations that the Ingress has on a host. Those of one path are side by side in the plan.
func (d *ingressDraft) server(host string) {
	d.result.Needs = append(d.result.Needs, planSource(host))
	plan := d.provider.planOf(host)
	if plan == nil {
		return
	}
	if plan.AliasOwner == nameOf(d.ingress) {
		for _, reason := range plan.AliasFaults {
			d.result.Degrade(d.whole(), dynamic.CodeUnsupportedOption, "server-alias of "+host+": "+reason, false)
		}
	}
	d.passthrough(plan)
	server := &serverDraft{provider: d.provider, plan: plan, result: d.result}
	for place := 0; place < len(plan.Locations); {
		one, count := &plan.Locations[place], 1
		for place+count < len(plan.Locations) && d.provider.together(one, &plan.Locations[place+count]) {
			count++
		}
		if one.Owner == nameOf(d.ingress) {
			server.location(d.ingress, d.options, place, count)
		}
		place += count
	}
}

// together reports whether two locations are one router where the host has no regular expressions.
func (p *Provider) together(one, other *location) bool {
	return one.sharesPath(other) && one.exempt(p.settings.NoAuth) == other.exempt(p.settings.NoAuth) &&
		one.exempt(p.settings.NoTLSRedirect) == other.exempt(p.settings.NoTLSRedirect)
}

// samePath reports whether two locations come from one path of an Ingress.
func (l *location) samePath(other *location) bool {
	return l.Owner == other.Owner && l.Rule == other.Rule && l.Index == other.Index && l.Rule >= 0
}

// sharesPath reports whether two locations come from one path of an Ingress, and do the same with requests.
func (l *location) sharesPath(other *location) bool {
	return l.samePath(other) && l.Rewrite == other.Rewrite
}
