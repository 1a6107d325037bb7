package gateway

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// rule is a rule of an HTTPRoute or a GRPCRoute.
type rule struct {
	matches  []*ruleMatch
	filters  []gatewayv1.HTTPRouteFilter
	backends []gatewayv1.HTTPBackendRef
	timeouts *gatewayv1.HTTPRouteTimeouts
	retry    *gatewayv1.HTTPRouteRetry
	session  *gatewayv1.SessionPersistence
	// grpc says that backends speak gRPC.
	grpc bool
}

// translateHTTPRoute translates an HTTPRoute.
func (p *Provider) translateHTTPRoute(source translation.Source) (result translation.Result, ok bool) {
	route, found := p.watches.httpRoutes.Get(source.Namespace, source.Name)
	if !found {
		p.dropRoute(kindHTTPRoute, types.NamespacedName{Namespace: source.Namespace, Name: source.Name})
		return result, false
	}
	d := p.newRoute(&result, kindHTTPRoute, route, route.Spec.ParentRefs, route.Spec.Hostnames)
	matches := func(spec *gatewayv1.HTTPRouteRule) []gatewayv1.HTTPRouteMatch { return spec.Matches }
	translateRules(d, route.Spec.Rules, matches, httpMatch, func(spec *gatewayv1.HTTPRouteRule) *rule {
		made := &rule{filters: spec.Filters, backends: spec.BackendRefs, timeouts: spec.Timeouts}
		if p.options.ExperimentalChannel {
			made.retry, made.session = spec.Retry, spec.SessionPersistence
		}
		return made
	})
	return result, true
}

// translateGRPCRoute translates a GRPCRoute.
func (p *Provider) translateGRPCRoute(source translation.Source) (result translation.Result, ok bool) {
	route, found := p.watches.grpcRoutes.Get(source.Namespace, source.Name)
	if !found {
		p.dropRoute(kindGRPCRoute, types.NamespacedName{Namespace: source.Namespace, Name: source.Name})
		return result, false
	}
	d := p.newRoute(&result, kindGRPCRoute, route, route.Spec.ParentRefs, route.Spec.Hostnames)
	matches := func(spec *gatewayv1.GRPCRouteRule) []gatewayv1.GRPCRouteMatch { return spec.Matches }
	translateRules(d, route.Spec.Rules, matches, grpcMatch, func(spec *gatewayv1.GRPCRouteRule) *rule {
		made := &rule{filters: httpFilters(spec.Filters), grpc: true}
		if p.options.ExperimentalChannel {
			made.session = spec.SessionPersistence
		}
		for _, ref := range spec.BackendRefs {
			made.backends = append(made.backends, gatewayv1.HTTPBackendRef{
				BackendRef: ref.BackendRef, Filters: httpFilters(ref.Filters),
			})
		}
		return made
	})
	return result, true
}

// translateRules translates the rules of an HTTPRoute or a GRPCRoute, and completes its result. Made returns a rule
// without its matches.
func translateRules[R, M any](
	d *routeDraft, rules []R, matches func(*R) []M, match func(*M) (*ruleMatch, error), made func(*R) *rule,
) {
	d.rules = len(rules)
	all := 0
	for i := range rules {
		all += max(1, len(matches(&rules[i])))
	}
	excess := d.excess(all)
	for i := range rules {
		one, found := made(&rules[i]), matches(&rules[i])
		if len(found) == 0 {
			found = make([]M, 1)
		}
		wrong := excess
		for j := range found {
			translated, err := match(&found[j])
			if err != nil && wrong == nil {
				wrong = fmt.Errorf("rule %d, match %d: %w", i, j, err)
			}
			one.matches = append(one.matches, translated)
		}
		d.rule(i, one, wrong)
	}
	d.finish()
	backend.Divide(d.result, d.p.environments())
}

// httpFilters returns the filters of a GRPCRoute as those of an HTTPRoute.
func httpFilters(filters []gatewayv1.GRPCRouteFilter) []gatewayv1.HTTPRouteFilter {
	same := make([]gatewayv1.HTTPRouteFilter, len(filters))
	for i := range filters {
		same[i] = gatewayv1.HTTPRouteFilter{
			Type:                   gatewayv1.HTTPRouteFilterType(filters[i].Type),
			RequestHeaderModifier:  filters[i].RequestHeaderModifier,
			ResponseHeaderModifier: filters[i].ResponseHeaderModifier,
			RequestMirror:          filters[i].RequestMirror,
			ExtensionRef:           filters[i].ExtensionRef,
		}
	}
	return same
}

// rule translates a rule into routers, one for each listener, match, and precedence of hostnames. A rule that is wrong
// in itself is left out.
func (d *routeDraft) rule(index int, spec *rule, wrong error) {
	if wrong == nil {
		wrong = spec.checkSession(index)
	}
	if wrong != nil {
		d.drop(gatewayv1.RouteReasonUnsupportedValue, wrong.Error())
		return
	}
	name := ruleName(routeName(string(d.kind), d.NamespacedName), index)
	draft := &ruleDraft{routeDraft: d, name: name, spec: spec, services: map[types.NamespacedName]string{}}
	draft.checkFilters(index)
	attachments := d.attachments()
	if len(attachments) == 0 {
		draft.check()
		return
	}
	for _, to := range attachments {
		draft.client = to.view.client
		service := draft.service(to.view.client)
		groups := hostGroups(to.hostnames)
		for j, match := range spec.matches {
			middlewares := draft.middlewares(to.listener, j)
			for _, group := range groups {
				router := &dynamic.Router{
					EntryPoints: []string{to.listener.key.qualified()}, Middlewares: middlewares, Service: service,
					Match: group.with(match.parts), Priority: routerPriority,
					Precedence: append([]int64{group.key}, match.keys...), Created: d.created,
				}
				if to.listener.protocol == gatewayv1.HTTPSProtocolType {
					router.TLS = &dynamic.RouterTLS{}
				}
				ref := routerRef(fmt.Sprintf("%s.%03d,%s%s", name, j, to.listener.key.object(), group.suffix(len(groups))))
				d.result.Put(ref, router)
			}
		}
	}
}

// routerPriority is that of all routers, which Precedence orders.
const routerPriority = 1
