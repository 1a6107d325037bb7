package ingress

import (
	"cmp"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// kindDefault is the kind of the single source that declares the common default backend. It represents all Ingresses
// with a default backend, so that one replaces the next atomically.
const kindDefault = "DefaultBackend"

// theDefault is that source.
func theDefault() translation.Source { return translation.Source{Kind: kindDefault} }

// election selects the Ingress whose default backend is used. It is held once for each round of translations that
// touches a candidate.
type election struct {
	held   bool
	winner *networkingv1.Ingress
}

// stands reports whether an Ingress is a candidate.
func stands(ingress *networkingv1.Ingress) bool {
	return ingress != nil && ingress.Spec.DefaultBackend != nil && len(ingress.Spec.Rules) == 0
}

// elected returns the first of our candidates, sorted by namespace and name; nil if there is none.
func (p *Provider) elected() *networkingv1.Ingress {
	if p.election.held {
		return p.election.winner
	}
	p.election = election{held: true}
	for ingress := range p.Claimed() {
		first := p.election.winner
		if stands(ingress) && (first == nil || cmp.Or(
			cmp.Compare(ingress.Namespace, first.Namespace), cmp.Compare(ingress.Name, first.Name)) < 0) {
			p.election.winner = ingress
		}
	}
	return p.election.winner
}

// touchDefault marks the default backend as changed if an Ingress becomes or ceases to be a candidate.
func (p *Provider) touchDefault(before, after *networkingv1.Ingress) {
	if stands(before) || stands(after) {
		p.memory.Touch(theDefault())
	}
}

// translateDefault makes the default backend of all.
func (p *Provider) translateDefault() (translation.Result, bool) {
	ingress := p.elected()
	if ingress == nil {
		return translation.Result{}, false
	}
	d := &draft{provider: p, ingress: ingress}
	d.result.Origin = originOf(ingress)
	d.readAnnotations()
	one := route{router: d.router(), refused: d.refused}
	one.router.Rule, one.router.Priority = catchAll, lowestPriority
	d.lead(&one, ingress.Spec.DefaultBackend, defaultService)
	d.put(defaultRouter, &one)
	return d.result, true
}

// addDefaultBackend makes the routers for what no path of the Ingress answers on the hosts of its rules.
func (d *draft) addDefaultBackend() {
	to := d.ingress.Spec.DefaultBackend
	switch {
	case to == nil:
		return
	case stands(d.ingress):
		d.yieldToElected()
		return
	}
	seen := map[string]bool{}
	for i := range d.ingress.Spec.Rules {
		if host := d.ingress.Spec.Rules[i].Host; !seen[host] {
			seen[host] = true
			d.addHostDefault(host, to)
		}
	}
}

// yieldToElected adds a verdict to a candidate that is not elected.
func (d *draft) yieldToElected() {
	d.result.Needs = append(d.result.Needs, theDefault())
	winner := d.provider.elected()
	if winner != nil && (winner.Namespace != d.ingress.Namespace || winner.Name != d.ingress.Name) {
		reason := "there is one default backend for all, and that of " + originOf(winner).Object + " is used"
		d.result.Quarantine(d.whole(), dynamic.CodeConflictingName, reason, false)
	}
}

func (d *draft) addHostDefault(host string, to *networkingv1.IngressBackend) {
	rule := catchAll
	if host != "" {
		var err error
		if rule, err = hostRule(host); err != nil {
			return // The paths of the host have it, or there are none.
		}
	}
	one := route{
		name:   routerName(d.ingress.Namespace, d.ingress.Name, host, "/"+defaultService),
		router: d.router(), refused: d.refused,
	}
	one.router.Rule, one.router.Priority = rule, lowestPriority+narrowness(host)
	d.lead(&one, to, "")
	if d.result.Objects[dynamic.Ref{Kind: dynamic.KindRouter, Name: one.name}] != nil {
		one.name = hashedName(one.name, rule)
	}
	d.put(one.name, &one)
}

// narrowness orders hosts so that of two that a request can be for, the narrower one is the higher: any host,
// wildcards, and the host itself, which is never shorter than a wildcard for it.
func narrowness(host string) int {
	rank := 1 + 2*len(host)
	if host != "" && !strings.HasPrefix(host, "*") {
		rank++
	}
	return rank
}
