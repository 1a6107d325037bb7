package ingressnginx

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// addCanary finds the canary of a port of a Service: the first Ingress that is one, and has the host, path and type of
// a location that leads to the port. All locations that lead there have it.
func (p *Provider) addCanary(
	plan *upstreamPlan, key serviceKey, mains []*networkingv1.Ingress, result *translation.Result,
) {
	var first *networkingv1.Ingress
	var to serviceKey
	for _, main := range mains {
		for _, host := range hostsOf(main) {
			result.Needs = append(result.Needs, planSource(host))
			server := p.planOf(host)
			if server == nil || len(server.Canaries) == 0 {
				continue
			}
			for i := range server.Locations {
				one := &server.Locations[i]
				if own, leads := p.backendOf(one); one.Owner != nameOf(main) || !leads || own != key {
					continue
				}
				canary, alternative := p.canaryOf(server, one, key, result)
				if canary != nil && (first == nil || Compare(canary, first) < 0) {
					first, to = canary, alternative
				}
			}
		}
	}
	if first == nil {
		return
	}
	policy := p.policyOf(to, result)
	if !policy.Enabled || !p.merges(first, to, result) {
		return
	}
	plan.Alternative, plan.Policy = to, policy
	plan.LegacyCanary = p.read(first).options.Affinity.LegacyCanary
}

// policyOf returns the canary annotations of the Ingress that decides about a port of a Service; zero when that is no
// canary.
func (p *Provider) policyOf(key serviceKey, result *translation.Result) annotation.Canary {
	result.Needs = append(result.Needs, key.source())
	var policy annotation.Canary
	for i, ingress := range p.claimed(p.index.ofService(key), result) {
		if i == 0 || isDefault(ingress, key) {
			policy = p.read(ingress).options.Canary
		}
	}
	return policy
}

// backendOf returns the port of the Service that the owner of a location has for it; false for none.
func (p *Provider) backendOf(of *location) (serviceKey, bool) {
	ingress := p.watches.Ingress(of.Owner.Namespace, of.Owner.Name)
	if of.Owner == (types.NamespacedName{}) || ingress == nil {
		return serviceKey{}, false
	}
	to, _ := of.backend(ingress)
	return serviceOf(ingress.Namespace, to)
}

// canaryOf returns the first canary of a location, and the port to which it leads; nil for none.
func (p *Provider) canaryOf(
	server *serverPlan, one *location, key serviceKey, result *translation.Result,
) (*networkingv1.Ingress, serviceKey) {
	for _, name := range server.Canaries {
		result.Needs = append(result.Needs, ingressSource(name))
		canary := p.watches.Ingress(name.Namespace, name.Name)
		if canary == nil {
			continue
		}
		to, given := serviceOf(canary.Namespace, canary.Spec.DefaultBackend)
		if given && server.Host == anyHost && to != key {
			return canary, to
		}
		for i := range canary.Spec.Rules {
			rule := &canary.Spec.Rules[i]
			if hostOf(rule) != server.Host || rule.HTTP == nil {
				continue
			}
			for j := range rule.HTTP.Paths {
				path := &rule.HTTP.Paths[j]
				to, given := serviceOf(canary.Namespace, &path.Backend)
				if given && to != key && one.has(path) {
					return canary, to
				}
			}
		}
	}
	return nil, serviceKey{}
}

// has reports whether a path of a canary is that of the location.
func (l *location) has(path *networkingv1.HTTPIngressPath) bool {
	return l.Path == path.Path && l.Declared == typeOf(path)
}

// merges reports whether ingress-nginx keeps the upstream of a canary. It drops one for which a path of the canary
// finds no location, although others do.
func (p *Provider) merges(canary *networkingv1.Ingress, to serviceKey, result *translation.Result) bool {
	for i := range canary.Spec.Rules {
		rule := &canary.Spec.Rules[i]
		if rule.HTTP == nil {
			continue
		}
		host := hostOf(rule)
		result.Needs = append(result.Needs, planSource(host))
		server := p.planOf(host)
		if server == nil {
			continue
		}
		for j := range rule.HTTP.Paths {
			path := &rule.HTTP.Paths[j]
			own, given := serviceOf(canary.Namespace, &path.Backend)
			if !given || own != to {
				continue
			}
			if !slices.ContainsFunc(server.Locations, func(one location) bool {
				main, leads := p.backendOf(&one)
				return leads && (main == to || one.has(path))
			}) {
				return false
			}
		}
	}
	return true
}

// canary sends a share of the requests to the Service of another Ingress.
func (d *locationDraft) canary() {
	if d.reference.Balancer == nil {
		return
	}
	plan := d.planOfUpstream(d.key)
	if plan.Alternative == (serviceKey{}) {
		return
	}
	to := plan.Alternative
	d.need(backend.KindService, to.Namespace, to.Service)
	if d.provider.watches.Service(to.Namespace, to.Service) == nil {
		d.degrade(dynamic.CodeMissingService, "Service "+to.Namespace+"/"+to.Service+
			" of the canary does not exist, so that it gets no requests", true)
		return
	}
	reference := d.referenceTo(to)
	reference.Scheme = d.reference.Scheme
	d.spread(to, &reference)
	reference.Balancer.Retry = d.reference.Balancer.Retry
	reference.Balancer.ServersTransport = d.reference.Balancer.ServersTransport
	made := &dynamic.Canary{
		Service: d.service, Weight: plan.Policy.Weight, WeightTotal: plan.Policy.WeightTotal,
		Header: plan.Policy.Header, HeaderValue: plan.Policy.HeaderValue, HeaderPattern: plan.Policy.HeaderPattern,
	}
	if cookie := plan.Policy.Cookie; validName(cookie) {
		made.Cookie = cookie
	}
	if made.HeaderPattern != "" {
		if err := pcre.Check(made.HeaderPattern, 0); err != nil {
			d.degrade(dynamic.CodeInvalidOption, "canary-by-header-pattern: "+err.Error()+
				"; the header decides nothing", false)
			made.Header, made.HeaderPattern = "", ""
		}
	}
	if sticky := d.reference.Balancer.Sticky; sticky != nil {
		if !plan.LegacyCanary {
			reference.Balancer.Sticky = sticky
			reference.Balancer.Strategy, reference.Balancer.Hash = dynamic.StrategyWRR, nil
		}
		made.Sticky, made.StickyService = ofCanary(sticky), plan.LegacyCanary
	}
	made.Canary = d.serviceOf(to, reference)
	d.service = d.declare("canary", &dynamic.Service{Canary: made})
}

// ofCanary returns the cookie that keeps clients with the canary or without, beside that of endpoints.
func ofCanary(sticky *dynamic.Sticky) *dynamic.Sticky {
	cookie, change := *sticky.Cookie, true
	cookie.Name, cookie.Mode, cookie.ChangeOnFailure = canaryCookie(cookie.Name), dynamic.CookiePersistent, &change
	return &dynamic.Sticky{Cookie: &cookie}
}

// canaryCookie returns the name of the cookie of the canary beside that of endpoints.
func canaryCookie(name string) string { return name + "_canary" }
