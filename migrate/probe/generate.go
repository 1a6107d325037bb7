package probe

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// DefaultPerHost is a number of probes per host that covers hosts of about ten paths completely.
const DefaultPerHost = 500

// Host is a host with its locations.
type Host struct {
	// Name is a host, a wildcard such as *.example.com, or _ for hosts that are not declared.
	Name    string
	Aliases []string
	// Twin is the name with or without "www." that is redirected to Name; empty for none.
	Twin string
	// TLS says that a certificate is configured; Regex that all paths are regular expressions.
	TLS, Regex bool
	Locations  []Location
}

// Location is a path of an Ingress.
type Location struct {
	Path  string
	Exact bool
	// Implied says that no Ingress declares the path, and that it is the host's for all other paths.
	Implied bool
	// Regex says that Path is written as a regular expression.
	Regex bool
	// Ingress is NAMESPACE/NAME.
	Ingress string
	Options *annotation.Options
	// Canary is the canary of the location's Service; nil for none.
	Canary *annotation.Canary
}

// Set are generated probes.
type Set struct {
	Probes []Probe
	// Omitted is the number of probes beyond the limit.
	Omitted int
}

// Generate returns the probes of a host, at most limit of them. If there are more, each location has some.
func Generate(host Host, limit int) Set {
	g := &generator{host: host, seen: map[string]bool{}}
	var queues [][]Probe
	for _, at := range host.Locations {
		queues = append(queues, g.location(at))
	}
	queues = append(queues, g.names())
	var set Set
	for turn := 0; ; turn++ {
		more := false
		for _, queue := range queues {
			if turn >= len(queue) {
				continue
			}
			more = true
			if len(set.Probes) < limit {
				set.Probes = append(set.Probes, queue[turn])
			} else {
				set.Omitted++
			}
		}
		if !more {
			return set
		}
	}
}

// generator makes the probes of one host.
type generator struct {
	host Host
	// seen are the requests that there are already.
	seen map[string]bool
	// at is the location under way, out are its probes.
	at  *Location
	out []Probe
}

// location returns the probes of one location, the most important ones first.
func (g *generator) location(at Location) []Probe {
	g.at, g.out = &at, nil
	path := at.Path
	if g.host.Regex {
		path = sample(at.Path)
	}
	g.add(uri.Escape(path), Declared, nil)
	g.scheme(uri.Escape(path))
	if at.Implied {
		g.add("/undeclared-path", UnknownPath, nil)
	}
	g.paths(path)
	g.options(path)
	g.encodings(path)
	return g.out
}

// names returns the probes about the name of the host.
func (g *generator) names() []Probe {
	if len(g.host.Locations) == 0 {
		return nil
	}
	g.at, g.out = &Location{Options: g.host.Locations[0].Options, Ingress: g.host.Locations[0].Ingress}, nil
	own := g.name()
	on := func(host string, reason Reason) {
		g.add("/", reason, func(p *Probe) { p.Host = host })
	}
	on(own+":8080", HostPort)
	on(strings.ToUpper(own), HostCase)
	for _, alias := range g.host.Aliases {
		if !strings.HasPrefix(alias, "~") {
			on(strings.Replace(alias, "*.", "probe.", 1), Alias)
		}
	}
	if g.host.Twin != "" {
		on(g.host.Twin, Twin)
	}
	if strings.HasPrefix(g.host.Name, "*.") {
		on("two."+own, Label)
		on(strings.TrimPrefix(g.host.Name, "*."), UnknownHost)
	}
	return g.out
}

// name returns a name for requests to the host.
func (g *generator) name() string {
	if g.host.Name == "_" || g.host.Name == "" {
		return "undeclared.invalid" // RFC 2606, section 2.
	}
	return strings.Replace(g.host.Name, "*.", "probe.", 1)
}

// secure reports whether requests without TLS are redirected.
func (g *generator) secure() bool {
	rewrite := g.at.Options.Rewrite
	return rewrite.ForceSSLRedirect || rewrite.SSLRedirect && g.host.TLS && g.host.Name != "_"
}

// scheme probes the scheme that the other probes do not have.
func (g *generator) scheme(target string) {
	if g.secure() {
		for _, one := range []string{target, strings.TrimSuffix(target, "/") + "/", target + "?a=b/"} {
			g.add(one, Plain, func(p *Probe) { p.Scheme = "http" })
		}
		return
	}
	g.add(target, Secure, func(p *Probe) { p.Scheme = "https" })
}

// add adds a probe, unless the same request is there.
func (g *generator) add(target string, reason Reason, change func(*Probe)) {
	one := Probe{
		Method: http.MethodGet, Scheme: "http", Host: g.name(), Target: rooted(target), Reason: reason,
		Ingress: g.at.Ingress, Path: g.at.Path,
	}
	if g.secure() {
		one.Scheme = "https"
	}
	if change != nil {
		change(&one)
	}
	identity := one
	identity.Reason, identity.Ingress, identity.Path = "", "", ""
	key, err := json.Marshal(identity)
	if err != nil || g.seen[string(key)] {
		return
	}
	g.seen[string(key)] = true
	g.out = append(g.out, one)
}

// header adds a probe with headers, as pairs of name and value, unless a name cannot be one.
func (g *generator) header(target, method string, reason Reason, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if strings.ContainsAny(pairs[i], " /:~") {
			return
		}
	}
	g.add(target, reason, func(p *Probe) {
		p.Method, p.Header = method, http.Header{}
		for i := 0; i+1 < len(pairs); i += 2 {
			p.Header.Set(pairs[i], pairs[i+1])
		}
	})
}
