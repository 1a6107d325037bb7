package ingressnginx

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// Provider is the provider of the Ingresses of ingress-nginx. Its zero value is not usable, see New.
type Provider struct {
	config static.KubernetesNGINX
	// entryPoints are those of the static configuration, by name.
	entryPoints map[string]*static.EntryPoint
	// source is the first part of endpoint keys.
	source   string
	watches  watches
	selector *Selector
	// environments says which Services are divided; nil divides none.
	environments backend.EnvironmentWatch
	memory       *translation.Memory
	index        *index
	chain        []stage
	// status holds a value when the status of a watch may have changed.
	status chan struct{}

	// What follows belongs to Provide. Plans are those of hosts with Ingresses, and that of anyHost; making are those that
	// are made at the moment. Again says that an update needs a further round.
	pairs    backend.Pairs
	settings *annotation.Settings
	reader   *annotation.Reader
	// defaults are the options of an Ingress without annotations.
	defaults *annotation.Options
	parsed   map[types.NamespacedName]reading
	plans    map[string]*serverPlan
	making   map[string]bool
	// aliases are the hosts of plans by their aliases with a wildcard in front, see serverPlan.leading.
	aliases map[string]map[string]struct{}
	// upstreams are the plans of ports of Services.
	upstreams map[serviceKey]*upstreamPlan
	shared    shared
	blocked   blockedClients
	// unreadable says that the settings were made without permission to read ConfigMaps.
	unreadable bool
	again      bool
}

// reading is what the annotations of an Ingress say.
type reading struct {
	ingress  *networkingv1.Ingress
	options  *annotation.Options
	findings []annotation.Finding
}

// New returns the provider of the Ingresses of ingress-nginx in a cluster. Config is providers.kubernetesIngressNGINX,
// and entryPoints are all of the static configuration: which peers they trust decides where lists of addresses find
// clients. Environments says which Services are divided into environments; nil divides none. Counters may be nil. The
// watches are registered with the cluster, whose Run feeds them.
func New(
	cluster *client.Cluster, config static.KubernetesNGINX, entryPoints map[string]*static.EntryPoint,
	environments backend.EnvironmentWatch, counters translation.Counters,
) (*Provider, error) {
	for option, value := range map[string]string{
		"configMap": config.ConfigMap, "defaultBackendService": config.DefaultBackendService,
		"defaultSSLCertificate": config.DefaultSSLCertificate,
	} {
		if _, ok := objectName(value); !ok {
			return nil, fmt.Errorf("%s %q is not of the form NAMESPACE/NAME", option, value)
		}
	}
	if _, err := labels.Parse(config.WatchNamespaceSelector); err != nil {
		return nil, fmt.Errorf("watchNamespaceSelector: %w", err)
	}
	p := assemble(cluster.Source(), config, watchAll(cluster, config), counters)
	p.entryPoints = entryPoints
	cluster.OnStatus(p.wake)
	if environments != nil {
		p.environments = environments
		environments.OnStatus(p.wake)
		environments.Notify(func(namespace, service string) {
			p.memory.Touch(translation.Source{Kind: backend.KindEnvironment, Namespace: namespace, Name: service})
		})
	}
	return p, nil
}

// Namespaces returns the namespaces of the Services, Secrets and ConfigMaps that a configuration reads; none means all.
func Namespaces(config static.KubernetesNGINX) []string {
	namespaces := watchedNamespaces(config)
	if namespaces == nil {
		return nil
	}
	for _, object := range []string{config.ConfigMap, config.DefaultBackendService, config.DefaultSSLCertificate} {
		if name, ok := objectName(object); ok && name.Namespace != "" {
			namespaces = append(namespaces, name.Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// watchedNamespaces returns those whose Ingresses are read; none means all.
func watchedNamespaces(config static.KubernetesNGINX) []string {
	if config.WatchNamespace == "" {
		return nil
	}
	return strings.Split(config.WatchNamespace, ",")
}

// objectName reads NAMESPACE/NAME; an empty text names nothing.
func objectName(text string) (types.NamespacedName, bool) {
	if text == "" {
		return types.NamespacedName{}, true
	}
	namespace, name, ok := static.ObjectName(text)
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
}

// assemble makes a provider of its parts.
func assemble(
	source string, config static.KubernetesNGINX, all watches, counters translation.Counters,
) *Provider {
	p := &Provider{
		config: config, source: source, watches: all, index: newIndex(), chain: chain(),
		status: make(chan struct{}, 1),
		memory: translation.New(Name, []string{kindIngress, kindServer, kindSettings, kindUpstream}, counters),
		parsed: map[types.NamespacedName]reading{}, plans: map[string]*serverPlan{}, making: map[string]bool{},
		aliases: map[string]map[string]struct{}{}, upstreams: map[serviceKey]*upstreamPlan{},
	}
	p.selector = NewSelector(&p.config, p.class)
	if given := config.WatchNamespaceSelector; given != "" {
		// New has checked it.
		p.selector.Labels, _ = labels.Parse(given)
		p.selector.Namespace = p.namespace
	}
	p.setSettings(annotation.DefaultSettings())
	p.followAll()
	return p
}

func (p *Provider) class(name string) *networkingv1.IngressClass {
	class, _ := p.watches.classes.Get("", name)
	return class
}

func (p *Provider) namespace(name string) *corev1.Namespace {
	namespace, _ := p.watches.namespaces.Get("", name)
	return namespace
}

// wake notes that the status of a watch may have changed. It returns at once.
func (p *Provider) wake() {
	select {
	case p.status <- struct{}{}:
	default:
	}
}

// Selector returns what decides which Ingresses are read.
func (p *Provider) Selector() *Selector { return p.selector }

// translate translates a source; it is false when the object does not exist, or is not this provider's.
func (p *Provider) translate(source translation.Source) (translation.Result, bool) {
	switch source.Kind {
	case kindSettings:
		return p.translateSettings()
	case kindServer:
		return p.translateServer(source.Name)
	case kindUpstream:
		return p.translateUpstream(source)
	case kindIngress:
		return p.translateIngress(source)
	}
	return translation.Result{}, false
}

// mostRounds bounds the rounds of one update: settings, the plans of hosts, those of hosts that depend on them.
const mostRounds = 8

// update translates what has changed and returns the whole.
func (p *Provider) update() (configuration *dynamic.Configuration, changed bool) {
	defer p.pairs.Forget()
	if p.unreadableConfig() != p.unreadable {
		p.memory.Touch(settingsSource())
	}
	for range mostRounds {
		p.again = false
		next, differs := p.memory.Update(p.translate)
		configuration, changed = next, changed || differs
		if !p.again {
			break
		}
	}
	return configuration, changed
}

// retouch marks a source during an update, which then has a further round.
func (p *Provider) retouch(source translation.Source) {
	p.memory.Touch(source)
	p.again = true
}

// read returns what the annotations of an Ingress say.
func (p *Provider) read(ingress *networkingv1.Ingress) reading {
	name := nameOf(ingress)
	if known, found := p.parsed[name]; found && known.ingress == ingress {
		return known
	}
	options, findings := p.reader.Read(ingress.Namespace, ingress.Annotations)
	read := reading{ingress, options, findings}
	p.parsed[name] = read
	return read
}

// translateIngress returns what an Ingress declares.
func (p *Provider) translateIngress(source translation.Source) (result translation.Result, ok bool) {
	ingress := p.watches.Ingress(source.Namespace, source.Name)
	if ingress == nil {
		delete(p.parsed, types.NamespacedName{Namespace: source.Namespace, Name: source.Name})
		return result, false
	}
	ours, needs := p.selector.Claims(ingress)
	result.Needs = append(needs, settingsInForceSource())
	if !ours {
		return result, true
	}
	result.Origin = originOf(ingress)
	read := p.read(ingress)
	d := &ingressDraft{provider: p, ingress: ingress, options: read.options, result: &result}
	d.report(read.findings)
	for _, host := range hostsOf(ingress) {
		d.server(host)
	}
	d.certificates()
	backend.Divide(&result, p.divided())
	return result, true
}

// divided returns which Services are divided; nil when none is.
func (p *Provider) divided() backend.Environments {
	if p.environments == nil {
		return nil
	}
	return p.environments
}

// Exists reports whether the cluster has an Ingress, with its uid, that this provider translates. It may be called from
// any goroutine.
func (p *Provider) Exists(resource *dynamic.Resource) bool {
	if resource.Kind != kindIngress || resource.APIVersion != networkingv1.SchemeGroupVersion.String() {
		return false
	}
	ingress := p.watches.Ingress(resource.Namespace, resource.Name)
	if ingress == nil || string(ingress.UID) != resource.UID {
		return false
	}
	ours, _ := p.selector.Claims(ingress)
	return ours
}
