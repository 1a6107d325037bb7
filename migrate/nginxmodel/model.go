// Package nginxmodel answers requests as ingress-nginx 1.15.1 would, from the objects that it would read.
//
// It is a description of its own, which shares with the translation to Sluice only the values of annotations and the
// language of nginx: so that a mistake of the one is a difference between both. What cannot be told from objects has
// these assumptions: endpoints answer 200; external authentication lets those requests pass that have an Authorization
// or a Cookie, and answers 401 to others; no password is right; no client has a certificate; no limit of rate is
// reached. Snippets are not executed but for a rewrite that the provider translates.
package nginxmodel

import (
	"cmp"
	"slices"

	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/migrate/source"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// Config is how ingress-nginx runs.
type Config struct {
	// Class is --ingress-class; empty for nginx. Controller is --controller-class; empty for k8s.io/ingress-nginx.
	Class, Controller string
	// ClassByName is --ingress-class-by-name, WithoutClass is --watch-ingress-without-class.
	ClassByName, WithoutClass bool
	// DisableCatchAll is --disable-catch-all.
	DisableCatchAll bool
	// DefaultBackend is NAMESPACE/NAME of --default-backend-service; empty for 404.
	DefaultBackend string
	// SSLPassthrough is --enable-ssl-passthrough.
	SSLPassthrough bool
	// HTTPPort and HTTPSPort are those of the flags; empty for 80 and 443.
	HTTPPort, HTTPSPort string
	// Settings are the data of the ConfigMap, which is in Namespace.
	Settings  map[string]string
	Namespace string
}

// Model answers requests. It is immutable and safe for concurrent use.
type Model struct {
	config   Config
	settings *annotation.Settings
	findings []annotation.Finding
	// values are the data of the ConfigMap.
	values map[string]string
	// sent and added are the headers that proxy-set-headers and add-headers name.
	sent, added map[string]string
	fallback    *backend
	ingresses   []*ingress
	// servers are ordered by name; the catch-all is among them.
	servers  []*server
	names    map[string]*server
	suffixes []hostSuffix
	patterns []hostPattern
	twins    map[string]*server
	problems []Problem
}

// Problem is why ingress-nginx does not do what an Ingress declares, beside its annotations.
type Problem struct {
	// Ingress is NAMESPACE/NAME.
	Ingress string `json:"ingress"`
	Host    string `json:"host,omitempty"`
	Reason  string `json:"reason"`
}

// ingress is an Ingress of the controller's class.
type ingress struct {
	source.Ingress
	options  *annotation.Options
	findings []annotation.Finding
	// denied is why its locations answer 503, rejected why ingress-nginx does not accept it.
	denied, rejected string
}

// Build returns the model of objects.
func Build(objects *source.Objects, config Config) *Model {
	config.HTTPPort, config.HTTPSPort = cmp.Or(config.HTTPPort, "80"), cmp.Or(config.HTTPSPort, "443")
	settings, findings := annotation.ReadConfigMap(config.Namespace, config.Settings)
	settings.Given = config.Settings != nil
	b := &builder{
		objects: objects, config: config, reader: annotation.NewReader(settings), ready: objects.Ready(),
		services: map[string]int{}, secrets: map[string]int{}, backends: map[string]*backend{},
		model: &Model{
			config: config, settings: settings, findings: findings, values: config.Settings, names: map[string]*server{},
			twins: map[string]*server{},
		},
	}
	for i, service := range objects.Services {
		b.services[service.Namespace+"/"+service.Name] = i
	}
	for i, secret := range objects.Secrets {
		b.secrets[secret.Namespace+"/"+secret.Name] = i
	}
	b.model.sent, b.model.added = b.data(settings.ProxySetHeaders), b.data(settings.AddHeaders)
	b.ingresses()
	b.servers()
	b.canaries()
	b.finish()
	return b.model
}

// builder builds a model.
type builder struct {
	model   *Model
	objects *source.Objects
	config  Config
	reader  *annotation.Reader
	// services and secrets are positions by NAMESPACE/NAME.
	services, secrets map[string]int
	ready             map[string]bool
	backends          map[string]*backend
}

// ingresses reads the Ingresses of the class, the oldest first; of equal age, the last by name.
func (b *builder) ingresses() {
	for i := range b.objects.Ingresses {
		one := &b.objects.Ingresses[i]
		if !b.claims(one) {
			continue
		}
		options, findings := b.reader.Read(one.Namespace, one.Annotations)
		read := &ingress{Ingress: *one, options: options, findings: findings, denied: options.Denied}
		read.rejected = b.rejected(read)
		if read.denied == "" {
			read.denied = b.missing(read)
		}
		b.model.ingresses = append(b.model.ingresses, read)
		if read.rejected != "" {
			b.problem(read, "", "ingress-nginx does not accept the Ingress: "+read.rejected)
		}
	}
	slices.SortStableFunc(b.model.ingresses, func(a, b *ingress) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(b.Key(), a.Key()))
	})
}

// rejected returns why ingress-nginx does not accept an Ingress.
func (b *builder) rejected(of *ingress) string {
	if of.options.Rejected != "" {
		return of.options.Rejected
	}
	for _, finding := range of.findings {
		if finding.AboveRisk {
			return finding.Key + " is above annotations-risk-level"
		}
	}
	if b.config.DisableCatchAll && of.Spec.DefaultBackend != nil {
		return "it has a default backend, which --disable-catch-all forbids"
	}
	return ""
}

func (b *builder) problem(of *ingress, host, reason string) {
	b.model.problems = append(b.model.problems, Problem{of.Key(), host, reason})
}

// claims reports whether an Ingress is of the controller's class. Without IngressClasses, the class of the same name as
// the controller's is there.
func (b *builder) claims(one *source.Ingress) bool {
	class := cmp.Or(b.config.Class, "nginx")
	controller := cmp.Or(b.config.Controller, "k8s.io/ingress-nginx")
	if named := one.Spec.IngressClassName; named != nil && *named != "" {
		if b.config.ClassByName && *named == class {
			return true
		}
		for _, known := range b.objects.Classes {
			if known.Name == *named {
				return known.Spec.Controller == controller
			}
		}
		return len(b.objects.Classes) == 0 && *named == class
	}
	if annotated := one.Annotations["kubernetes.io/ingress.class"]; annotated != "" {
		return annotated == class
	}
	return b.config.WithoutClass
}

// missing returns why locations answer 503 for an object that annotations need; empty when there is no such reason.
// Kinds of which no object has been read are presumed to be there.
func (b *builder) missing(of *ingress) string {
	if auth := of.options.Auth; auth != nil && auth.Secret.Name != "" {
		key := "auth"
		if auth.Map {
			key = ""
		}
		if reason := b.secret(auth.Secret, key); reason != "" {
			return reason
		}
	}
	if proxy := of.options.ProxyTLS; proxy != nil && proxy.Secret.Name != "" {
		if reason := b.secret(proxy.Secret, ""); reason != "" {
			return reason
		}
	}
	maps := []*annotation.Reference{of.options.Backend.CustomHeaders}
	if auth := of.options.AuthRequest; auth != nil {
		maps = append(maps, auth.ProxySetHeaders)
	}
	for _, reference := range maps {
		if reference != nil && len(b.objects.ConfigMaps) > 0 &&
			b.objects.ConfigMap(reference.Namespace, reference.Name) == nil {
			return "the ConfigMap " + reference.Namespace + "/" + reference.Name + " does not exist"
		}
	}
	return b.forbidden(of)
}

// secret returns what is wrong with a Secret that needs a key, if that is not empty.
func (b *builder) secret(reference annotation.Reference, key string) string {
	name := reference.Namespace + "/" + reference.Name
	switch at, found := b.secrets[name]; {
	case len(b.objects.Secrets) == 0:
		return ""
	case !found:
		return "the Secret " + name + " does not exist"
	case key != "" && !slices.Contains(b.objects.Secrets[at].Keys, key):
		return "the Secret " + name + " has no key " + key
	}
	return ""
}

// forbidden returns why the custom headers of an Ingress deny its locations.
func (b *builder) forbidden(of *ingress) string {
	for name := range b.customHeaders(of) {
		if !slices.Contains(b.model.settings.AllowedResponseHeaders, name) {
			return "the header " + name + " is not among global-allowed-response-headers"
		}
	}
	return ""
}

// customHeaders returns the data of the ConfigMap of custom-headers.
func (b *builder) customHeaders(of *ingress) map[string]string {
	return b.data(of.options.Backend.CustomHeaders)
}

// data returns the data of a ConfigMap; nil where there is none.
func (b *builder) data(reference *annotation.Reference) map[string]string {
	if reference == nil {
		return nil
	}
	if found := b.objects.ConfigMap(reference.Namespace, reference.Name); found != nil {
		return found.Data
	}
	return nil
}

// Settings are the settings of the ConfigMap with what has been found in it.
func (m *Model) Settings() (*annotation.Settings, []annotation.Finding) {
	return m.settings, m.findings
}

// Problems are what ingress-nginx does not do of what Ingresses declare.
func (m *Model) Problems() []Problem { return m.problems }

// Ingress is an Ingress of the class.
type Ingress struct {
	// Key is NAMESPACE/NAME.
	Key string
	// File and Line are where it is declared.
	File string
	Line int
	// Hosts are those of its rules; empty for the catch-all.
	Hosts   []string
	Options *annotation.Options
	// Findings are the verdicts on its annotations.
	Findings []annotation.Finding
	// Denied is why its locations answer 503; empty when they do not.
	Denied string
	// Rejected is why ingress-nginx does not accept it; empty when it does.
	Rejected string
}

// Ingresses returns the Ingresses of the class, the oldest first.
func (m *Model) Ingresses() []Ingress {
	all := make([]Ingress, 0, len(m.ingresses))
	for _, one := range m.ingresses {
		shown := Ingress{
			Key: one.Key(), File: one.File, Line: one.Line, Options: one.options, Findings: one.findings, Denied: one.denied,
			Rejected: one.rejected,
		}
		for _, rule := range one.Spec.Rules {
			if !slices.Contains(shown.Hosts, rule.Host) {
				shown.Hosts = append(shown.Hosts, rule.Host)
			}
		}
		all = append(all, shown)
	}
	return all
}

// Hosts returns the hosts with their locations, for the generation of probes.
func (m *Model) Hosts() []probe.Host {
	all := make([]probe.Host, 0, len(m.servers))
	for _, one := range m.servers {
		host := probe.Host{Name: one.name, Aliases: one.aliases, TLS: one.tls, Regex: one.regex}
		for name, to := range m.twins {
			if to == one {
				host.Twin = name
			}
		}
		for _, at := range one.declared {
			host.Locations = append(host.Locations, at.probed())
		}
		all = append(all, host)
	}
	return all
}
