package ingressnginx

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// locationDraft is the translation of a location while it is made, or of the two that a path of an Ingress has. The
// steps of the chain run once for requests without TLS and once for those with TLS.
type locationDraft struct {
	provider *Provider
	// ingress is the owner; nil for none. Options are its annotations, or the defaults.
	ingress *networkingv1.Ingress
	options *annotation.Options
	// server is the host, whose locations from place on, count of them, are translated.
	server       *serverPlan
	place, count int
	result       *translation.Result
	// name is what the names of the routers begin with.
	name string

	// faults say why expressions cannot be compiled, by the places of their locations; nil for those that can.
	faults map[int]error
	// clients says how certificates of clients are verified, once it is known.
	clients *clientsOfLocation
	// tls says for which requests the chain is made.
	tls bool
	// twin says that it is made for the host with or without "www.", which has neither certificates of clients nor TLS
	// options in nginx.
	twin bool
	// key is the port of the Service that answers; zero for the default response 404. Reference is how it is reached.
	key       serviceKey
	reference backend.Reference
	// service is the name of the service, once it is made.
	service string
	// What the steps have decided.
	middlewares [phases][]string
	response    *dynamic.DirectResponse
	refused     *backend.Problem
}

// location returns the first of the locations, of which the others differ in name and exactness alone.
func (d *locationDraft) location() *location { return &d.server.Locations[d.place] }

// settings returns what the ConfigMap says.
func (d *locationDraft) settings() *annotation.Settings { return d.provider.settings }

// need notes that the translation depends on an object, which exists or not.
func (d *locationDraft) need(kind, namespace, name string) { d.result.AddNeed(kind, namespace, name) }

// optionsOf returns the annotations of another Ingress of this provider; nil when it does not exist.
func (d *locationDraft) optionsOf(name types.NamespacedName) *annotation.Options {
	d.result.Needs = append(d.result.Needs, ingressSource(name))
	ingress := d.provider.watches.Ingress(name.Namespace, name.Name)
	if ingress == nil {
		return nil
	}
	return d.provider.read(ingress).options
}

// translate declares the routers.
func (d *locationDraft) translate() {
	for _, d.tls = range []bool{false, true} {
		d.lead()
		d.run(ofLocation)
		if reason := denied(d.server, d.options); reason != "" {
			d.refused = &backend.Problem{Code: dynamic.CodeUnsupportedOption, Reason: reason}
		}
		if !d.planned() {
			d.refuse(dynamic.CodeInvalidReference, "the Ingress has changed, and its paths are read again", true)
		}
		d.routers()
		d.slash()
	}
}

// planned reports whether the Ingress has the path that the plan of the host was made of.
func (d *locationDraft) planned() bool {
	if d.ingress == nil {
		return true
	}
	_, planned := d.location().backend(d.ingress)
	return planned
}

// routers declares the routers of the locations. On a server without regular expressions, the two of a path are one
// router: nothing else that matches the path itself comes between them.
func (d *locationDraft) routers() {
	if d.server.Regex || d.count == 1 {
		for place := d.place; place < d.place+d.count; place++ {
			name, one := d.name, &d.server.Locations[place]
			if one.Exact && one.Declared == networkingv1.PathTypePrefix {
				name += ",exact"
			}
			d.put(name, d.path(place), place)
		}
		return
	}
	both := dynamic.Match{Any: make([]dynamic.Match, d.count)}
	for i := range both.Any {
		both.Any[i] = d.path(d.place + i)
	}
	d.put(d.name, both, d.place)
}

// path returns what matches the path of a location.
func (d *locationDraft) path(place int) dynamic.Match {
	one := &d.server.Locations[place]
	switch {
	case d.server.Regex:
		const caseless = "(?i)^"
		pattern := caseless + one.Name
		if err := d.fault(place, pattern); err != nil {
			d.refused = &backend.Problem{Code: dynamic.CodeInvalidRule, Reason: "the path " + one.Path + ": " + err.Error()}
			pattern = caseless + literal(one.Name)
		}
		return matcher("NormalizedPathRegexp", pattern)
	case one.Exact:
		return matcher("NormalizedPath", one.Name)
	}
	return matcher("NormalizedPathPrefix", one.Name)
}

// fault returns why the expression of a location cannot be compiled, which is checked once for all of its routers.
func (d *locationDraft) fault(place int, pattern string) error {
	err, known := d.faults[place]
	if !known {
		if d.faults == nil {
			d.faults = map[int]error{}
		}
		err = pcre.Check(pattern, 0)
		d.faults[place] = err
	}
	return err
}

// mostLiteral bounds what is left of an expression that cannot be compiled, in bytes. Longer ones may not be compiled
// either.
const mostLiteral = 4000

// literal returns an expression that matches where another one does, which cannot be compiled: what it begins with.
func literal(pattern string) string {
	if strings.ContainsRune(pattern, '|') {
		return ""
	}
	if len(pattern) > mostLiteral {
		pattern = strings.ToValidUTF8(pattern[:mostLiteral-1], "") // A quantifier may follow the last character.
	}
	end := strings.IndexAny(pattern, `\.^$*+?()[]{}`)
	if end < 0 {
		return pattern
	}
	if end > 0 && strings.IndexByte("*+?{", pattern[end]) >= 0 {
		end-- // It is about the character before it.
	}
	return pattern[:end]
}

func matcher(name, argument string) dynamic.Match {
	return dynamic.Match{Name: name, Args: []string{argument}}
}

// put declares the routers of a match, one for each kind of names that the host has.
func (d *locationDraft) put(name string, match dynamic.Match, place int) {
	for _, names := range d.hosts() {
		d.router(name+names.suffix, names.with(match), d.server.precedence(names.key, place))
	}
}

// router declares a router with what the steps have decided.
func (d *locationDraft) router(name string, match *dynamic.Match, precedence []int64) {
	config := &d.provider.config
	router := &dynamic.Router{
		Middlewares: d.chained(), Service: d.service, Match: match, Priority: priority, Precedence: precedence,
		Observability: d.observability(),
	}
	if d.ingress != nil {
		router.Created = d.ingress.CreationTimestamp.Time
	}
	entryPoint, plain := config.HTTPEntryPoint, dynamic.Ref{Kind: dynamic.KindRouter, Name: name}
	if d.tls {
		name += ",tls"
		entryPoint, router.TLS = config.HTTPSEntryPoint, &dynamic.RouterTLS{}
		if !d.twin {
			router.TLS.Options = d.tlsOptions()
		}
	}
	if entryPoint != "" {
		router.EntryPoints = []string{entryPoint}
	}
	ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: name}
	d.result.Put(ref, router)
	if d.refused != nil {
		d.result.Revoke(ref, d.refused.Code, d.refused.Reason, d.refused.Missing)
		if d.tls {
			d.result.Verdicts[len(d.result.Verdicts)-1].Cause = plain
		}
	}
}

// priority is that of all routers, which Precedence orders.
const priority = 1

// observability says what is recorded, and of what the router was made.
func (d *locationDraft) observability() *dynamic.RouterObservability {
	made := &dynamic.IngressMetadata{ServiceName: d.key.Service, ServicePort: d.key.Port}
	if d.ingress != nil {
		made.Namespace, made.IngressName = d.ingress.Namespace, d.ingress.Name
	}
	own := &dynamic.RouterObservability{Tracing: d.options.Log.Tracing}
	own.Metadata = &dynamic.ObservabilityMetadata{Ingress: made}
	settings := d.settings()
	if !settings.AccessLog || !d.options.Log.Access || d.ingress == nil && !settings.DefaultBackendLog {
		no := false
		own.AccessLogs = &no
	}
	return own
}
