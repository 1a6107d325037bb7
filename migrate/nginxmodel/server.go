package nginxmodel

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/nginx/location"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// catchAll is the name of the server of requests for other hosts.
const catchAll = "_"

// server is a host.
type server struct {
	name    string
	aliases []string
	// tls says that an Ingress of the host has a TLS section.
	tls bool
	// www is the Ingress for which the name with or without "www." is redirected here; nil for none.
	www *ingress
	// clientTLS is that of clientOwner; nil for none.
	clientTLS   *annotation.ClientTLS
	clientOwner *ingress
	// passthrough says that the Ingress has ssl-passthrough that is the first one of the host.
	passthrough bool
	// regex says that all locations are regular expressions.
	regex bool
	// declared are the locations before each plain prefix became two.
	declared []*place
	places   []*place
	choice   location.Server
	chosen   map[*location.Location]*place
	appRoots []string
}

// place is a location.
type place struct {
	// path is its name without "^"; asked is the path of the Ingress.
	path, asked string
	exact       bool
	// implied says that the host has it without a path of an Ingress.
	implied bool
	// owner is nil for the catch-all's own one.
	owner   *ingress
	options *annotation.Options
	backend *backend
	denied  string
	headers map[string]string
	// standIn is the Service for what has no endpoints, and for pages of errors; nil for none.
	standIn *backend
	// rewrite is that of rewrite-target, and snippet that of configuration-snippet; nil for none.
	rewrite, snippet *rewrite
}

// hostSuffix is the end of an alias that begins with "*", which stands for any number of labels.
type hostSuffix struct {
	text   string
	server *server
}

// hostPattern is a name of a server that is an expression.
type hostPattern struct {
	pattern *pcre.Regexp
	server  *server
}

// rewrites reports whether requests get another path. The target may be the path of the Ingress, and differ from that
// of the location by its final slash.
func (p *place) rewrites() bool {
	target := p.options.Rewrite.Target
	return target != "" && target != p.path
}

func (p *place) regex() bool { return p.options.Rewrite.UseRegex || p.rewrites() }

// key returns NAMESPACE/NAME of the Ingress.
func (p *place) key() string {
	if p.owner == nil {
		return ""
	}
	return p.owner.Key()
}

func (p *place) probed() probe.Location {
	out := probe.Location{
		Path: p.asked, Exact: p.exact, Implied: p.implied, Regex: p.regex(), Ingress: p.key(), Options: p.options,
	}
	if p.backend != nil && p.backend.canary != nil && p.backend.canary.policy != nil {
		out.Canary = &p.backend.canary.policy.Canary
	}
	return out
}

// servers makes the hosts and their locations.
func (b *builder) servers() {
	if service := b.config.DefaultBackend; service != "" {
		namespace, name, _ := strings.Cut(service, "/")
		b.model.fallback = b.firstPort(namespace, name)
	}
	none := b.plain()
	root := &place{path: "/", asked: "/", implied: true, options: none, backend: b.model.fallback}
	b.model.names[catchAll] = &server{name: catchAll, tls: true, declared: []*place{root}}
	for _, one := range b.model.ingresses {
		if one.rejected == "" && !one.options.Canary.Enabled {
			b.declare(one)
		}
	}
	for _, one := range b.model.ingresses {
		if one.rejected != "" || one.options.Canary.Enabled {
			continue
		}
		for _, rule := range one.Spec.Rules {
			at := b.model.names[cmp.Or(rule.Host, catchAll)]
			at.configure(one, b.clientTLS(one))
			if rule.HTTP != nil {
				b.add(at, one, rule.HTTP.Paths)
			}
		}
	}
}

// plain returns the options of locations without Ingress: those of the ConfigMap, but no redirect to https.
func (b *builder) plain() *annotation.Options {
	options, _ := b.reader.Read("", nil)
	options.Rewrite.SSLRedirect, options.Rewrite.ForceSSLRedirect = false, false
	options.GlobalAuth = false
	return options
}

// declare adds the hosts of an Ingress that no older one has, each with a location for what is not declared.
func (b *builder) declare(one *ingress) {
	fallback := b.model.fallback
	if given := one.Spec.DefaultBackend; given != nil && given.Service != nil {
		fallback = b.backendOf(one, given.Service)
		if root := b.model.names[catchAll].declared[0]; len(one.Spec.Rules) == 0 && root.implied {
			root.implied, root.owner, root.backend = false, one, fallback
			options := *one.options // Redirects and rewriting do not apply here.
			options.Redirect, options.Rewrite = root.options.Redirect, root.options.Rewrite
			root.options, root.denied = &options, one.denied
			root.headers, root.standIn = b.customHeaders(one), b.standIn(one)
		}
	}
	for _, rule := range one.Spec.Rules {
		name := cmp.Or(rule.Host, catchAll)
		if b.model.names[name] != nil {
			continue
		}
		root := b.place(one, "/", false, fallback)
		root.implied = true
		b.model.names[name] = &server{
			name: name, passthrough: one.options.TLS.Passthrough, declared: []*place{root},
		}
	}
}

// configure sets what the first Ingress decides that has it.
func (s *server) configure(one *ingress, clientTLS *annotation.ClientTLS) {
	if len(s.aliases) == 0 {
		s.aliases = one.options.Aliases
	}
	if s.clientTLS == nil || s.clientTLS.Secret.Name == "" && s.clientTLS.Denied == "" {
		s.clientTLS, s.clientOwner = clientTLS, one
	}
	s.tls = s.tls || len(one.Spec.TLS) > 0
}

// clientTLS returns the certificates of clients that an Ingress demands: none where the Secret has no authority.
// Without the Secret, the host is denied.
func (b *builder) clientTLS(of *ingress) *annotation.ClientTLS {
	found := of.options.ClientTLS
	if found == nil || found.Denied != "" {
		return found
	}
	if reason := b.secret(found.Secret, ""); reason != "" {
		return &annotation.ClientTLS{Denied: reason}
	}
	if b.secret(found.Secret, "ca.crt") != "" {
		return nil
	}
	return found
}

func (b *builder) place(of *ingress, path string, exact bool, to *backend) *place {
	return &place{
		path: path, asked: path, exact: exact, owner: of, options: of.options, backend: to, denied: of.denied,
		headers: b.customHeaders(of), standIn: b.standIn(of),
	}
}

// add adds the paths of a rule.
func (b *builder) add(at *server, one *ingress, paths []networkingv1.HTTPIngressPath) {
	for i := range paths {
		if paths[i].Backend.Service == nil {
			continue
		}
		exact := paths[i].PathType != nil && *paths[i].PathType == networkingv1.PathTypeExact
		added := b.place(one, cmp.Or(paths[i].Path, "/"), exact, b.backendOf(one, paths[i].Backend.Service))
		if at.www == nil && one.options.Redirect.FromToWWW {
			at.www = one
		}
		same := slices.IndexFunc(at.declared, func(other *place) bool {
			return other.asked == added.asked && other.exact == added.exact
		})
		switch {
		case same < 0:
			at.declared = append(at.declared, added)
		case at.declared[same].implied:
			at.declared[same] = added
		case at.declared[same].owner != one:
			b.problem(one, at.name, "the path "+added.asked+" is that of "+at.declared[same].key()+", which is older")
		}
	}
}

// finish orders servers and locations, and prepares the choice.
func (b *builder) finish() {
	for _, one := range b.model.names {
		b.model.servers = append(b.model.servers, one)
	}
	slices.SortFunc(b.model.servers, func(a, b *server) int { return cmp.Compare(a.name, b.name) })
	for _, one := range b.model.servers {
		one.aliases = slices.DeleteFunc(slices.Clone(one.aliases), func(name string) bool {
			return b.model.names[name] != nil
		})
		one.order()
		b.model.problems = append(b.model.problems, one.compile()...)
	}
	for _, one := range b.model.servers {
		b.name(one)
	}
}

// order orders the locations by the length of their paths, the longest first, then by text, and makes two of each
// prefix that is no expression.
func (s *server) order() {
	slices.SortStableFunc(s.declared, func(a, b *place) int {
		return cmp.Or(cmp.Compare(len(b.path), len(a.path)), cmp.Compare(b.path, a.path))
	})
	for _, one := range s.declared {
		if one.path == "/" || one.exact || one.regex() {
			s.places = append(s.places, one)
			continue
		}
		folder := *one
		folder.path = strings.TrimSuffix(one.path, "/") + "/"
		s.places = append(s.places, &folder)
		if !slices.ContainsFunc(s.declared, func(other *place) bool { return other.exact && other.path == one.path }) {
			twin := *one
			twin.exact = true
			s.places = append(s.places, &twin)
		}
	}
	s.regex = slices.ContainsFunc(s.places, (*place).regex)
}

// compile prepares the choice of a location. It returns what nginx cannot choose.
func (s *server) compile() (problems []Problem) {
	s.chosen = map[*location.Location]*place{}
	for _, one := range s.places {
		one.prepareSnippet(len(s.places) == 1)
	}
	var exact, prefix, regex []*place
	for _, one := range s.places {
		of := &prefix
		switch {
		case s.regex:
			of = &regex
		case one.exact:
			of = &exact
		}
		if !s.regex && slices.ContainsFunc(*of, func(other *place) bool { return other.path == one.path }) {
			problems = append(problems, Problem{one.key(), s.name, "nginx refuses the configuration of all hosts: the path " +
				one.asked + " gives the location " + one.path + " twice"})
			continue
		}
		*of = append(*of, one)
	}
	for _, one := range s.places {
		if root := one.options.Rewrite.AppRoot; root != "" && !slices.Contains(s.appRoots, root) {
			s.appRoots = append(s.appRoots, root)
		}
	}
	s.choice = location.Server{Exact: blocks(exact), Prefix: blocks(prefix)}
	var matched []*place
	for _, one := range regex {
		pattern, err := pcre.Compile("^"+one.path, pcre.Caseless)
		if err == nil {
			err = one.prepareRewrite()
		}
		if err != nil {
			problems = append(problems, Problem{one.key(), s.name, "the path " + one.asked + " is not in the model: " +
				err.Error()})
			continue
		}
		s.choice.Regex = append(s.choice.Regex, location.Location{Name: one.path, Regexp: pattern})
		matched = append(matched, one)
	}
	s.link(s.choice.Exact, exact)
	s.link(s.choice.Prefix, prefix)
	s.link(s.choice.Regex, matched)
	return problems
}

func blocks(of []*place) []location.Location {
	all := make([]location.Location, len(of))
	for i, one := range of {
		all[i] = location.Location{Name: one.path, Redirects: one.denied == ""}
	}
	return all
}

func (s *server) link(blocks []location.Location, to []*place) {
	for i := range blocks {
		s.chosen[&blocks[i]] = to[i]
	}
}

// name enters the names of a server.
func (b *builder) name(of *server) {
	if rest, wildcard := strings.CutPrefix(of.name, "*."); wildcard {
		b.pattern(of, `^(?<subdomain>[\w-]+)\.`+strings.ReplaceAll(rest, ".", `\.`)+"$")
	}
	for _, alias := range of.aliases {
		if pattern, is := strings.CutPrefix(alias, "~"); is {
			b.pattern(of, pattern)
		} else if end, is := strings.CutPrefix(alias, "*"); is {
			b.model.suffixes = append(b.model.suffixes, hostSuffix{end, of})
		} else if b.model.names[alias] == nil {
			b.model.names[alias] = of
		}
	}
	if of.www == nil || of.name == catchAll {
		return
	}
	twin, cut := strings.CutPrefix(of.name, "www.")
	if !cut {
		twin = "www." + of.name
	}
	if !slices.ContainsFunc(b.model.servers, func(one *server) bool { return one.name == twin }) {
		b.model.twins[twin] = of
	}
}

// pattern adds a name that is an expression, which nginx compares without case.
func (b *builder) pattern(of *server, text string) {
	pattern, err := pcre.Compile(text, pcre.Caseless)
	if err != nil {
		b.model.problems = append(b.model.problems, Problem{of.declared[0].key(), of.name, "the name " + text + ": " +
			err.Error()})
		return
	}
	b.model.patterns = append(b.model.patterns, hostPattern{pattern, of})
}

// serverOf returns the server of a host in lower case without port.
func (m *Model) serverOf(host string) *server {
	if one, known := m.names[host]; known && host != catchAll && !strings.HasPrefix(host, "*.") {
		return one
	}
	var longest *hostSuffix
	for i := range m.suffixes {
		one := &m.suffixes[i]
		if strings.HasSuffix(host, one.text) && len(host) > len(one.text) &&
			(longest == nil || len(one.text) > len(longest.text)) {
			longest = one
		}
	}
	if longest != nil {
		return longest.server
	}
	for _, one := range m.patterns {
		if one.pattern.Match(host) {
			return one.server
		}
	}
	return m.names[catchAll]
}
