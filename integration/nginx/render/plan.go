package render

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// catchAll is the name of the server of requests to other hosts.
const catchAll = "_"

// server is a host.
type server struct {
	name      string
	aliases   []string
	locations []*location
	// www means that the twin with or without "www." is redirected here.
	www bool
	// tls means that a certificate is configured, which turns the redirect to https on.
	tls         bool
	certificate PEM
	clientTLS   clientTLS
	// forbidden means that all requests are answered with 403.
	forbidden   bool
	upstreamTLS upstreamTLS
	ciphers     string
}

// location is a path of a host. The implicit one of each host may have no Ingress.
type location struct {
	path  string
	exact bool
	// implied is set while no path of an Ingress has replaced the location.
	implied bool
	ingress *networkingv1.Ingress
	options *options
	backend backend
	// asked is the path of the Ingress.
	asked string
}

// backend is the Service of a location; the empty value is the default backend.
type backend struct{ namespace, service, port string }

func (b backend) key() string { return b.namespace + "/" + b.service }

// plan returns the servers, sorted by name.
func (r *renderer) plan() []*server {
	ingresses := r.claimed()
	read := make(map[*networkingv1.Ingress]*options, len(ingresses))
	for _, ingress := range ingresses {
		read[ingress] = r.read(ingress)
	}
	servers := map[string]*server{catchAll: r.fallback()}
	for _, ingress := range ingresses {
		if !canary(ingress) {
			r.declare(servers, ingress, read[ingress])
		}
	}
	for _, ingress := range ingresses {
		for _, rule := range ingress.Spec.Rules {
			s, ok := servers[cmp.Or(rule.Host, catchAll)]
			if !ok || canary(ingress) {
				continue
			}
			r.configure(s, ingress, read[ingress], rule.Host)
			add(s, ingress, read[ingress], rule.HTTP)
		}
	}
	all := make([]*server, 0, len(servers))
	for _, s := range servers {
		s.aliases = slices.DeleteFunc(s.aliases, func(alias string) bool { return servers[alias] != nil })
		s.complete()
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *server) int { return cmp.Compare(a.name, b.name) })
	return all
}

// claimed returns the Ingresses of the controller's class, the oldest first.
func (r *renderer) claimed() []*networkingv1.Ingress {
	var claimed []*networkingv1.Ingress
	for _, ingress := range r.State.Objects.Ingresses {
		if r.claims(ingress) && !r.ignored(ingress) {
			claimed = append(claimed, ingress)
		}
	}
	slices.SortStableFunc(claimed, func(a, b *networkingv1.Ingress) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(b.Namespace+"/"+b.Name, a.Namespace+"/"+a.Name))
	})
	return claimed
}

// claims reports whether an Ingress is of the controller's class. The class nginx exists unless others are described.
func (r *renderer) claims(ingress *networkingv1.Ingress) bool {
	name := cmp.Or(r.settings.argument("--ingress-class"), "nginx")
	controller := cmp.Or(r.settings.argument("--controller-class"), "k8s.io/ingress-nginx")
	if class := ingress.Spec.IngressClassName; class != nil && *class != "" {
		if r.settings.given("--ingress-class-by-name") && *class == name {
			return true
		}
		for _, known := range r.State.Objects.Classes {
			if known.Name == *class {
				return known.Spec.Controller == controller
			}
		}
		return *class == "nginx" && controller == "k8s.io/ingress-nginx"
	}
	if class := ingress.Annotations["kubernetes.io/ingress.class"]; class != "" {
		return class == name
	}
	return r.settings.given("--watch-ingress-without-class")
}

// ignored reports whether an Ingress is refused as a whole, or has words that the settings forbid.
func (r *renderer) ignored(ingress *networkingv1.Ingress) bool {
	if r.settings.given("--disable-catch-all") && len(ingress.Spec.Rules) == 0 {
		return true
	}
	for _, rule := range ingress.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, path := range rule.HTTP.Paths {
			if strings.ContainsAny(path.Path, ";\n") {
				return true
			}
		}
	}
	for key, value := range ingress.Annotations {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		blocked := func(word string) bool { return strings.Contains(value, word) }
		if r.risky(name) || refused(name, value) ||
			slices.ContainsFunc(r.settings.list("annotation-value-word-blocklist"), blocked) {
			return true
		}
	}
	selector := r.settings.argument("--watch-namespace-selector")
	if selector == "" {
		return false
	}
	key, value, _ := strings.Cut(selector, "=")
	return !slices.ContainsFunc(r.State.Objects.Namespaces, func(n *Namespace) bool {
		return n.Name == ingress.Namespace && n.Labels[key] == value
	})
}

// refused reports whether a value makes the controller refuse the Ingress.
func refused(name, value string) bool {
	switch name {
	case "auth-type":
		return value != "" && value != "basic" && value != "digest"
	case "custom-http-errors":
		return strings.Trim(value, "0123456789,") != "" ||
			slices.ContainsFunc(split(value), func(status string) bool { return status < "400" || status >= "600" })
	case "permanent-redirect", "temporal-redirect":
		return strings.Contains(value, "$")
	}
	return false
}

// risky reports whether an annotation is above the level of risk, so that the Ingress is not taken. An earlier version
// of the Ingress goes on.
func (r *renderer) risky(name string) bool {
	level := r.settings.text("annotations-risk-level", "High")
	switch name {
	case "configuration-snippet", "server-snippet", "auth-snippet", "stream-snippet", "modsecurity-snippet":
		return level != "Critical"
	case "server-alias", "auth-tls-error-page", "auth-tls-match-cn", "auth-signin", "auth-url", "mirror-host",
		"mirror-target", "modsecurity-transaction-id", "proxy-ssl-name", "upstream-hash-by":
		return level == "Low" || level == "Medium"
	default:
		return false
	}
}

func canary(ingress *networkingv1.Ingress) bool {
	on, _ := strconv.ParseBool(ingress.Annotations[prefix+"canary"])
	return on
}

// fallback returns the server of other hosts.
func (r *renderer) fallback() *server {
	none := new(networkingv1.Ingress)
	s := &server{name: catchAll, certificate: r.Default}
	l := &location{path: "/", asked: "/", implied: true, ingress: none, options: r.read(none)}
	l.options.secure, l.options.force = false, false
	l.backend = r.defaultBackend()
	s.locations = []*location{l}
	return s
}

// defaultBackend returns the Service of what no Ingress has; empty where it is the controller's own.
func (r *renderer) defaultBackend() (b backend) {
	if key := r.settings.argument("--default-backend-service"); key != "" {
		b.namespace, b.service, _ = strings.Cut(key, "/")
		b.port = "80"
	}
	return b
}

// declare adds the servers of an Ingress that no older one has.
func (r *renderer) declare(servers map[string]*server, ingress *networkingv1.Ingress, o *options) {
	first := servers[catchAll].locations[0]
	fallback := r.defaultBackend()
	if b := ingress.Spec.DefaultBackend; b != nil && b.Service != nil {
		fallback = backendOf(ingress.Namespace, b.Service)
		if len(ingress.Spec.Rules) == 0 && first.implied {
			first.implied, first.backend, first.ingress = false, fallback, ingress
			own := *o // Redirects and rewriting do not apply here.
			own.redirect, own.target, own.regex, own.appRoot, own.secure, own.force = redirect{}, "", false, "", false, false
			first.options = &own
		}
	}
	for _, rule := range ingress.Spec.Rules {
		name := cmp.Or(rule.Host, catchAll)
		if servers[name] != nil {
			continue
		}
		servers[name] = &server{name: name, certificate: r.Default, locations: []*location{
			{path: "/", asked: "/", implied: true, ingress: ingress, options: o, backend: fallback},
		}}
	}
}

// configure sets what a server has once: the first Ingress that has it wins.
func (r *renderer) configure(s *server, ingress *networkingv1.Ingress, o *options, host string) {
	if len(s.aliases) == 0 {
		s.aliases = split(o.text("server-alias", ""))
		slices.Sort(s.aliases)
	}
	s.forbidden = s.forbidden || o.clientTLSDenied != ""
	if s.clientTLS.authority == "" {
		s.clientTLS = o.clientTLS
	}
	if s.upstreamTLS.authority == "" && !r.settings.flag("proxy-ssl-location-only") {
		s.upstreamTLS = o.upstreamTLS
	}
	s.ciphers = cmp.Or(s.ciphers, o.text("ssl-ciphers", ""))
	if !s.tls && len(ingress.Spec.TLS) > 0 {
		s.tls = true
		if certificate, ok := r.certificateOf(ingress, host); ok {
			s.certificate = certificate
		}
	}
}

// add adds the paths of a rule.
func add(s *server, ingress *networkingv1.Ingress, o *options, rule *networkingv1.HTTPIngressRuleValue) {
	if rule == nil {
		return
	}
	for _, path := range rule.Paths {
		if path.Backend.Service == nil {
			continue
		}
		l := &location{
			path: cmp.Or(path.Path, "/"), ingress: ingress, options: o,
			backend: backendOf(ingress.Namespace, path.Backend.Service),
			exact:   path.PathType != nil && *path.PathType == networkingv1.PathTypeExact,
		}
		l.asked = l.path
		s.www = s.www || o.redirect.www
		at := slices.IndexFunc(s.locations, func(other *location) bool { return other.path == l.path })
		switch {
		case at < 0:
			s.locations = append(s.locations, l)
		case s.locations[at].exact != l.exact:
			// Only the first location of a path is compared: nginx refuses a second one of the same type.
			s.locations = append(s.locations, l)
		case s.locations[at].implied:
			*s.locations[at] = *l
		}
	}
}

// complete sorts the paths as the Ingresses have them, the longest first, then by text, and splits plain prefixes in
// two locations.
func (s *server) complete() {
	slices.SortStableFunc(s.locations, func(a, b *location) int {
		return cmp.Or(cmp.Compare(len(b.path), len(a.path)), cmp.Compare(b.path, a.path))
	})
	var all []*location
	for _, l := range s.locations {
		all = append(all, l)
		if l.path == "/" || l.exact || l.rewrites() || l.options.regex {
			continue
		}
		plain := l.path
		twin := *l
		if !strings.HasSuffix(l.path, "/") {
			l.path += "/"
		}
		if !slices.ContainsFunc(s.locations, func(o *location) bool { return o.exact && o.path == plain }) {
			twin.exact = true
			all = append(all, &twin)
		}
	}
	s.locations = all
}

// rewrites reports whether the location has another target than its path.
func (l *location) rewrites() bool { return l.options.target != "" && l.options.target != l.path }

// regular reports whether all paths of the server are regular expressions.
func (s *server) regular() bool {
	return slices.ContainsFunc(s.locations, func(l *location) bool { return l.rewrites() || l.options.regex })
}

func backendOf(namespace string, service *networkingv1.IngressServiceBackend) backend {
	port := service.Port.Name
	if service.Port.Number > 0 {
		port = strconv.Itoa(int(service.Port.Number))
	}
	return backend{namespace: namespace, service: service.Name, port: port}
}

// twin is a redirect from one name to another.
type twin struct {
	from string
	to   *server
}

// twins returns the redirects between names with and without "www." that no server has.
func twins(servers []*server) []twin {
	var all []twin
	for _, s := range servers {
		if !s.www {
			continue
		}
		from, cut := strings.CutPrefix(s.name, "www.")
		if !cut {
			from = "www." + s.name
		}
		if !slices.ContainsFunc(servers, func(o *server) bool { return o.name == from }) {
			all = append(all, twin{from, s})
		}
	}
	return all
}
