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
	d.rules = len(route.Spec.Rules)
	all := 0
	for i := range route.Spec.Rules {
		all += max(1, len(route.Spec.Rules[i].Matches))
	}
	excess := d.excess(all)
	for i := range route.Spec.Rules {
		spec := &route.Spec.Rules[i]
		made := &rule{filters: spec.Filters, backends: spec.BackendRefs, timeouts: spec.Timeouts}
		if p.options.ExperimentalChannel {
			made.retry, made.session = spec.Retry, spec.SessionPersistence
		}
		matches := spec.Matches
		if len(matches) == 0 {
			matches = []gatewayv1.HTTPRouteMatch{{}}
		}
		wrong := excess
		for j := range matches {
			match, err := httpMatch(&matches[j])
			if err != nil && wrong == nil {
				wrong = fmt.Errorf("rule %d, match %d: %w", i, j, err)
			}
			made.matches = append(made.matches, match)
		}
		d.rule(i, made, wrong)
	}
	d.finish()
	backend.Divide(&result, p.environments())
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
	d.rules = len(route.Spec.Rules)
	all := 0
	for i := range route.Spec.Rules {
		all += max(1, len(route.Spec.Rules[i].Matches))
	}
	excess := d.excess(all)
	for i := range route.Spec.Rules {
		spec := &route.Spec.Rules[i]
		made := &rule{filters: httpFilters(spec.Filters), grpc: true}
		if p.options.ExperimentalChannel {
			made.session = spec.SessionPersistence
		}
		for _, ref := range spec.BackendRefs {
			made.backends = append(made.backends, gatewayv1.HTTPBackendRef{
				BackendRef: ref.BackendRef, Filters: httpFilters(ref.Filters),
			})
		}
		matches := spec.Matches
		if len(matches) == 0 {
			matches = []gatewayv1.GRPCRouteMatch{{}}
		}
		wrong := excess
		for j := range matches {
			match, err := grpcMatch(&matches[j])
			if err != nil && wrong == nil {
				wrong = fmt.Errorf("rule %d, match %d: %w", i, j, err)
			}
			made.matches = append(made.matches, match)
		}
		d.rule(i, made, wrong)
	}
	d.finish()
	backend.Divide(&result, p.environments())
	return result, true
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
