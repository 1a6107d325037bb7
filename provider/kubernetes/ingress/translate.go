package ingress

import (
	"fmt"
	"math"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// lowestPriority is below that of every router with rules of its own.
const lowestPriority = math.MinInt32

// draft is the translation of one Ingress while it is made.
type draft struct {
	provider *Provider
	ingress  *networkingv1.Ingress
	options  *routerOptions
	native   *nativeRouterOptions
	// refused is why no router of the Ingress may serve; nil when they may.
	refused *backend.Problem
	routes  []route
	// backends maps names of services to their backends.
	backends map[string]networkingv1.IngressServiceBackend
	result   translation.Result
}

// route is a router before it has its name.
type route struct {
	name   string
	router *dynamic.Router
	// refused is why the router may not serve; nil when it may.
	refused *backend.Problem
	// words are the rule in the words of the Ingress, for a router without one.
	words string
}

// translate returns what an Ingress declares; false means that it does not exist or is not ours.
func (p *Provider) translate(source translation.Source) (translation.Result, bool) {
	if source == theDefault() {
		return p.translateDefault()
	}
	ingress, found := p.watches.ingresses.Get(source.Namespace, source.Name)
	if !found {
		return translation.Result{}, false
	}
	d := &draft{provider: p, ingress: ingress}
	ours, class := p.selector.claims(ingress)
	if class != "" {
		d.result.AddNeed(kindClass, "", class)
	}
	if !ours {
		return d.result, class != ""
	}
	d.result.Origin = originOf(ingress)
	for _, reason := range d.readAnnotations() {
		d.result.Degrade(d.whole(), dynamic.CodeIneffectiveOption, reason, false)
	}
	if excess := d.excess(); excess != nil {
		d.result.Quarantine(d.whole(), excess.Code, excess.Reason, false)
		return d.result, true
	}
	d.addCertificates()
	d.addRules()
	d.nameRoutes()
	d.addDefaultBackend()
	backend.Divide(&d.result, p.environments)
	return d.result, true
}

// excess returns a problem if there are too many routers for repeating the annotations.
func (d *draft) excess() *backend.Problem {
	routers, names := 0, len(d.options.EntryPoints)+len(d.options.Middlewares)
	for i := range d.ingress.Spec.Rules {
		if paths := d.ingress.Spec.Rules[i].HTTP; paths != nil {
			routers += len(paths.Paths)
		}
		if d.ingress.Spec.DefaultBackend != nil {
			routers++
		}
	}
	if d.options.TLS != nil {
		for _, domain := range d.options.TLS.Domains {
			names += 1 + len(domain.SANs)
		}
	}
	return backend.Excess(routers, names)
}

func originOf(ingress *networkingv1.Ingress) dynamic.Origin {
	return dynamic.Origin{
		Object: kindIngress + " " + ingress.Namespace + "/" + ingress.Name,
		Resource: &dynamic.Resource{
			APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: kindIngress,
			Namespace: ingress.Namespace, Name: ingress.Name,
			UID: string(ingress.UID), Generation: ingress.Generation,
		},
	}
}

// whole is what a finding belongs to that concerns no single router.
func (d *draft) whole() dynamic.Ref {
	return dynamic.Ref{Kind: dynamic.KindSource, Name: d.result.Origin.Object}
}

// readAnnotations reads the options of the routers, and returns those that have no effect.
func (d *draft) readAnnotations() (ignored []string) {
	options, native, found := routerOptionsOf(d.ingress.Annotations)
	d.options, d.native = options, native
	references := options.Middlewares
	if options.TLS != nil {
		references = append(references[:len(references):len(references)], options.TLS.Options)
	}
	d.refused = found.problem("", d.provider.crossing(d.ingress.Namespace, references))
	return found.ignored
}

// crossing returns a reference to another provider from a namespace that must not refer to one; empty if there is none.
func (p *Provider) crossing(namespace string, references []string) string {
	allowed := p.config.CrossProviderNamespaces
	if allowed == nil {
		return ""
	}
	for _, one := range allowed {
		if one == namespace {
			return ""
		}
	}
	for _, reference := range references {
		if _, provider, qualified := strings.Cut(reference, "@"); qualified && provider != Name {
			return fmt.Sprintf("%q is of another provider, and crossProviderNamespaces does not list the namespace %s",
				reference, namespace)
		}
	}
	return ""
}

func (d *draft) addCertificates() {
	seen := make(map[string]bool, len(d.ingress.Spec.TLS))
	for i := range d.ingress.Spec.TLS {
		secret := d.ingress.Spec.TLS[i].SecretName
		if secret == "" || seen[secret] {
			continue
		}
		seen[secret] = true
		d.result.AddNeed(backend.KindSecret, d.ingress.Namespace, secret)
		entry, problem := d.provider.pairs.Certificate(d.ingress.Namespace, secret, &d.provider.watches)
		if problem != nil {
			d.result.Degrade(d.whole(), problem.Code, fmt.Sprintf("spec.tls[%d]: %s", i, problem.Reason), problem.Missing)
			continue
		}
		d.result.PutCertificate(entry)
	}
}

func (d *draft) addRules() {
	rules := d.ingress.Spec.Rules
	for i := range rules {
		if rules[i].HTTP == nil {
			if d.ingress.Spec.DefaultBackend == nil {
				d.result.Degrade(d.whole(), dynamic.CodeIneffectiveOption,
					fmt.Sprintf("spec.rules[%d] has no paths, and there is no defaultBackend", i), false)
			}
			continue
		}
		for j := range rules[i].HTTP.Paths {
			d.addPath(rules[i].Host, &rules[i].HTTP.Paths[j])
		}
	}
}

func (d *draft) addPath(host string, path *networkingv1.HTTPIngressPath) {
	one := route{
		name:   routerName(d.ingress.Namespace, d.ingress.Name, host, path.Path),
		router: d.router(), refused: d.refused, words: host + path.Path,
	}
	one.router.RuleSyntax = d.options.syntaxOf(path.Path)
	rule, err := ruleOf(host, path, d.options, d.provider.config.StrictPrefixMatching)
	if err != nil {
		one.refused = &backend.Problem{Code: dynamic.CodeInvalidRule, Reason: err.Error()}
	}
	one.router.Rule, one.router.Priority = rule, d.priority(host, path)
	d.lead(&one, &path.Backend, "")
	d.routes = append(d.routes, one)
}

// priority returns the value of the annotation, else 0, which is the length of the rule. Of equal paths, Kubernetes
// requires the exact one first, and by length a short exact path would follow the prefix of all paths: so it comes
// right before the prefix of the same path.
func (d *draft) priority(host string, path *networkingv1.HTTPIngressPath) int {
	if d.options.Priority != 0 || path.PathType == nil || *path.PathType != networkingv1.PathTypeExact {
		return d.options.Priority
	}
	kind := networkingv1.PathTypePrefix
	rule, err := ruleOf(host, &networkingv1.HTTPIngressPath{Path: path.Path, PathType: &kind}, d.options,
		d.provider.config.StrictPrefixMatching)
	if err != nil {
		return 0
	}
	return len(rule) + 1
}

// router returns a router with the options of the annotations.
func (d *draft) router() *dynamic.Router {
	return &dynamic.Router{
		EntryPoints: d.options.EntryPoints, Middlewares: d.options.Middlewares, TLS: d.options.TLS, RuleSyntax: "v3",
		PriorityClass: d.native.PriorityClass,
	}
}

// lead leads a route to a backend, whose service gets the name, or one of its own.
func (d *draft) lead(one *route, to *networkingv1.IngressBackend, name string) {
	one.router.Observability = d.observability(to.Service)
	switch {
	case to.Service != nil:
		one.router.Service = d.addService(to.Service, name)
	case to.Resource != nil:
		one.refused = &backend.Problem{Code: dynamic.CodeInvalidReference, Reason: fmt.Sprintf(
			"its backend is the resource %s %s, and only Services can be backends", to.Resource.Kind, to.Resource.Name)}
	default:
		one.refused = &backend.Problem{Code: dynamic.CodeInvalidReference, Reason: "its backend names no Service"}
	}
}

// observability returns the options of the annotations, and the metadata of a router to that backend. A backend that is
// no Service is nil.
func (d *draft) observability(to *networkingv1.IngressServiceBackend) *dynamic.RouterObservability {
	made := &dynamic.IngressMetadata{Namespace: d.ingress.Namespace, IngressName: d.ingress.Name}
	if to != nil {
		made.ServiceName = to.Name
		made.ServicePort, _ = portOf(to.Port)
	}
	own := dynamic.RouterObservability{}
	if d.options.Observability != nil {
		own = *d.options.Observability
	}
	own.Metadata = &dynamic.ObservabilityMetadata{Ingress: made}
	return &own
}

// nameRoutes gives every route a name of its own.
func (d *draft) nameRoutes() {
	sharing := map[string]int{}
	for i := range d.routes {
		sharing[d.routes[i].name]++
	}
	for i := range d.routes {
		one := &d.routes[i]
		name := one.name
		// A path / of the Ingress router in the namespace default has the name of another router.
		if sharing[name] > 1 || name == defaultRouter {
			words := one.router.Rule
			if words == "" {
				words = one.words
			}
			name = hashedName(name, words)
		}
		if ref := (dynamic.Ref{Kind: dynamic.KindRouter, Name: name}); d.result.Objects[ref] != nil {
			d.result.Degrade(
				ref, dynamic.CodeConflictingName, "its rule stands more than once in the Ingress; the last one is used", false,
			)
		}
		d.put(name, one)
	}
}

func (d *draft) put(name string, one *route) {
	ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: name}
	d.result.Put(ref, one.router)
	if one.refused != nil {
		d.result.Quarantine(ref, one.refused.Code, one.refused.Reason, false)
	}
}
