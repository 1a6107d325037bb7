package ingressnginx

import (
	"encoding"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/static"
)

// clientAddress says which address of a request is the client's, for lists and limits; nil for that of the connection.
// Behind proxies it is the one that nginx's realip module finds, past the addresses that both the entrypoints and the
// ConfigMap trust. A problem is why it cannot be found: the address of a proxy in its place would open lists.
func (d *locationDraft) clientAddress() (strategy *dynamic.IPStrategy, problem string) {
	if given := d.provider.config.IPAllowListStrategy; given != nil {
		strategy = &dynamic.IPStrategy{Depth: given.Depth, ExcludedIPs: given.ExcludedIPs}
		if given.IPv6Subnet != 0 {
			strategy.IPv6Subnet = &given.IPv6Subnet
		}
		return strategy, ""
	}
	of := &d.settings().RealIP
	if !of.Forwarded && !of.ProxyProtocol {
		return nil, ""
	}
	if of.Unsupported != "" {
		return nil, of.Unsupported
	}
	names := d.entryPoints()
	if len(names) == 0 {
		return nil, "no entrypoint serves the location"
	}
	demanded, err := forwarded.ParseRanges(of.Trusted...)
	if err != nil {
		return nil, "proxy-real-ip-cidr: " + err.Error()
	}
	var trusted []string
	for _, name := range names {
		entryPoint := d.provider.entryPoints[name]
		if of.ProxyProtocol && !readsProxyHeaders(entryPoint) {
			return nil, "use-proxy-protocol is set, and the entrypoint " + name + " has no proxyProtocol.trustedIPs"
		}
		if !of.Forwarded {
			continue
		}
		common := forwarded.Common(trustedBy(entryPoint), demanded)
		if missing := untrusted(entryPoint, demanded); len(common) == 0 || missing != "" && !trustsAll(of.Trusted) {
			return nil, "the client is in X-Forwarded-For, which the entrypoint " + name + " does not take from " + missing +
				" of proxy-real-ip-cidr: set forwardedHeaders.trustedIPs"
		}
		for _, one := range common {
			if text := textOf(one); !slices.Contains(trusted, text) {
				trusted = append(trusted, text)
			}
		}
	}
	if !of.Forwarded {
		return nil, "" // The PROXY header has replaced the address of the connection.
	}
	slices.Sort(trusted)
	return &dynamic.IPStrategy{TrustedIPs: trusted}, ""
}

// untrusted returns the first range that an entrypoint does not trust; empty for none.
func untrusted(entryPoint *static.EntryPoint, demanded []forwarded.Range) string {
	trusted := forwarded.TrustOf(trustedBy(entryPoint))
	for _, one := range demanded {
		if !trusted.Covers(one) {
			return textOf(one)
		}
	}
	return ""
}

// trustsAll reports whether proxy-real-ip-cidr has its default, which demands no proxy in particular.
func trustsAll(trusted []string) bool {
	return slices.Equal(trusted, annotation.DefaultSettings().RealIP.Trusted)
}

// forwardedHeaders adds the headers by which endpoints get the request of the client, as far as those of the entrypoints
// are others than those of nginx: an entrypoint takes all of a trusted peer, and the port of the Host header. It also
// returns which address is $remote_addr.
func (d *locationDraft) forwardedHeaders(headers []dynamic.HeaderValue) ([]dynamic.HeaderValue, *dynamic.IPStrategy) {
	of, port := &d.settings().RealIP, map[string]string{"http": "80", "https": "443"}[d.scheme()]
	if of.ProxyProtocol {
		port = "$server_port"
	}
	set := map[string]string{}
	if !d.trusting() || of.Forwarded && !of.Headers {
		set["X-Forwarded-Port"], set["X-Forwarded-Proto"] = port, d.scheme()
	}
	client, _ := d.clientAddress() // A problem leaves the address of the connection.
	if of.Forwarded {
		if client != nil && !of.FullForwardedFor {
			set[forwarded.XForwardedFor] = "$remote_addr"
		}
		if client != nil {
			set["X-Real-Ip"] = "$remote_addr"
		}
		if host := "$best_http_host"; of.Headers {
			set["Host"], set["X-Forwarded-Host"] = host, host
		} else {
			set["X-Forwarded-Host"], set["X-Forwarded-Scheme"], set["X-Scheme"] = "$http_host", d.scheme(), d.scheme()
		}
	}
	for _, one := range valuesOf(set) {
		headers = replaced(headers, one.Name, one.Value)
	}
	return headers, client
}

// trusting reports whether an entrypoint of the location takes forwarded headers of any peer.
func (d *locationDraft) trusting() bool {
	return slices.ContainsFunc(d.entryPoints(), func(name string) bool {
		entryPoint := d.provider.entryPoints[name]
		return entryPoint != nil && len(trustedBy(entryPoint)) > 0
	})
}

// textOf returns a range as options write it.
func textOf(one encoding.TextMarshaler) string {
	text, err := one.MarshalText()
	if err != nil {
		return ""
	}
	return string(text)
}

// entryPoints returns the names of those that the routers have.
func (d *locationDraft) entryPoints() []string {
	name := d.provider.config.HTTPEntryPoint
	if d.tls {
		name = d.provider.config.HTTPSEntryPoint
	}
	if name == "" {
		return d.provider.defaultEntryPoints()
	}
	if d.provider.entryPoints[name] == nil {
		return nil
	}
	return []string{name}
}

// defaultEntryPoints returns the names of the entrypoints of routers without any.
func (p *Provider) defaultEntryPoints() []string {
	var chosen, all []string
	for _, name := range slices.Sorted(maps.Keys(p.entryPoints)) {
		one := p.entryPoints[name]
		if address, err := one.ListenAddress(); err != nil || address.Network != "tcp" {
			continue
		}
		if one.AsDefault {
			chosen = append(chosen, name)
		}
		if name != static.InternalEntryPoint {
			all = append(all, name)
		}
	}
	if len(chosen) > 0 {
		return chosen
	}
	return all
}

// trustedBy returns the addresses from which an entrypoint takes forwarded headers.
func trustedBy(entryPoint *static.EntryPoint) []forwarded.Range {
	if !entryPoint.ForwardedHeaders.Insecure {
		return entryPoint.ForwardedHeaders.TrustedIPs
	}
	everything, err := forwarded.ParseRanges("0.0.0.0/0", "::/0")
	if err != nil {
		return nil
	}
	return everything
}

// readsProxyHeaders reports whether an entrypoint takes addresses from PROXY headers.
func readsProxyHeaders(entryPoint *static.EntryPoint) bool {
	of := entryPoint.ProxyProtocol
	return of != nil && (of.Insecure || len(of.TrustedIPs) > 0)
}
