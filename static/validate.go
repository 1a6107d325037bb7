package static

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// validate reports what is wrong with the complete configuration and no single value shows.
func (l *loader) validate() {
	c := l.Configuration
	names := slices.Sorted(maps.Keys(c.EntryPoints))
	for _, name := range names {
		l.entryPoint(name, c.EntryPoints[name])
	}
	l.sameAddress(names)
	l.file()
	l.dns()
	l.management()
	l.core()
	l.xds()
	l.xdsProvider()
	l.gateway()
	l.nginx()
	l.injector()
	l.inspector()
	l.handover()
	l.resolvers()
	l.sessionTickets()
	l.ocsp()
	l.spiffe()
	l.overload()
}

// core checks the syntax of rules.
func (l *loader) core() {
	if l.Configuration.Core == nil {
		return
	}
	switch given := l.Configuration.Core.DefaultRuleSyntax; strings.ToLower(given) {
	case "", "v3":
	case "v2":
		l.warn("is deprecated: rules are read in the v2 syntax; rewrite them for v3", "core", "defaultRuleSyntax")
	default:
		l.fail(fmt.Sprintf("%q is neither v2 nor v3", given), "core", "defaultRuleSyntax")
	}
}

func (l *loader) fail(reason string, path ...string) {
	l.findings = append(l.findings, l.Locate(reason, path...))
}

func (l *loader) warn(reason string, path ...string) {
	finding := l.Locate(reason, path...)
	finding.Severity = Warning
	l.findings = append(l.findings, finding)
}

func (l *loader) entryPoint(name string, e *EntryPoint) {
	if name == "" {
		l.fail("a name in it is empty", "entryPoints")
	}
	address, err := e.ListenAddress()
	switch {
	case e.Address == "":
		l.fail("is missing, expected [host]:port[/tcp|/udp]", "entryPoints", name, "address")
	case err != nil:
		l.fail(err.Error(), "entryPoints", name, "address")
	default:
		l.network(name, address.Network)
	}
	if e.UDP.Timeout <= 0 {
		l.fail(fmt.Sprintf("%v is not above 0", time.Duration(e.UDP.Timeout)), "entryPoints", name, "udp", "timeout")
	}
	if pp := e.ProxyProtocol; pp != nil {
		if !pp.Insecure && len(pp.TrustedIPs) == 0 {
			l.warn("no peer is trusted, so that no PROXY header is accepted; set trustedIPs",
				"entryPoints", name, "proxyProtocol")
		}
	}
	if address.Network == "tcp" {
		l.limits(name, e)
	}
	if e.ForwardProxy != nil && err == nil && !Loopback(address.Host) {
		l.fail("a forward proxy listens on a loopback address only, since it reaches everything that this process reaches",
			"entryPoints", name, "forwardProxy")
	}
	if e.HTTP3 != nil && err == nil && address.Network == "tcp" {
		l.http3(name, e)
	}
	if redirections := e.HTTP.Redirections; redirections != nil && redirections.EntryPoint != nil {
		l.redirection(name, redirections.EntryPoint)
	}
}

// http3 checks what HTTP/3 excludes on a TCP entrypoint.
func (l *loader) http3(name string, e *EntryPoint) {
	if qlog := e.HTTP3.QLog; qlog != nil && qlog.Directory == "" {
		l.fail("is missing", "entryPoints", name, "http3", "qlog", "directory")
	}
	if e.ForwardProxy != nil {
		l.fail("a forward proxy serves no HTTP/3", "entryPoints", name, "http3")
	}
	if e.ProxyProtocol != nil && !e.HTTP3.Withdrawn {
		l.warn("HTTP/3 has no PROXY header: the address of such a client is that of its datagrams",
			"entryPoints", name, "http3")
	}
}

// network warns of options that have no effect on an entrypoint of the network, tcp or udp.
func (l *loader) network(name, network string) {
	kind, options := "UDP", []string{
		"allowACMEByPass", "proxyProtocol", "forwardedHeaders", "http", "http2", "http3", "forwardProxy", "tcp",
		"transport.limits",
	}
	if network == "tcp" {
		kind, options = "TCP", []string{"udp"}
	}
	for _, option := range options {
		path := append([]string{"entryPoints", name}, strings.Split(option, ".")...)
		if _, written := l.find(path); written {
			l.warn("has no effect on a "+kind+" entrypoint", path...)
		}
	}
}

func (l *loader) redirection(name string, redirect *RedirectEntryPoint) {
	path := []string{"entryPoints", name, "http", "redirections", "entryPoint", "to"}
	switch port, isPort := strings.CutPrefix(redirect.To, ":"); {
	case redirect.To == "":
		l.fail("is missing, expected the name of an entrypoint or :port", path...)
	case isPort:
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			l.fail(fmt.Sprintf("bad port %s, expected a number from 1 to 65535", shorten(port)), path...)
		}
	default:
		l.exists(redirect.To, path...)
	}
}

// exists checks that an entrypoint exists and speaks TCP.
func (l *loader) exists(name string, path ...string) {
	target, ok := l.Configuration.EntryPoints[name]
	if !ok {
		known := slices.Sorted(maps.Keys(l.Configuration.EntryPoints))
		l.fail(fmt.Sprintf("no entrypoint has the name %s%s", shorten(name), didYouMean(nearest(name, known))), path...)
		return
	}
	if address, err := target.ListenAddress(); err == nil && address.Network == "udp" {
		l.fail(fmt.Sprintf("the entrypoint %s is a UDP one", shorten(name)), path...)
	}
}

// sameAddress finds entrypoints that would listen on the same address. Port 0 is a different port each time.
func (l *loader) sameAddress(names []string) {
	first, entryPoints := map[Address]string{}, l.Configuration.EntryPoints
	for _, name := range names {
		address, err := entryPoints[name].ListenAddress()
		if err != nil || address.Port == 0 {
			continue
		}
		if ip, err := netip.ParseAddr(address.Host); err == nil && ip.IsUnspecified() {
			address.Host = ""
		}
		other, taken := first[address]
		if !taken && address.Network == "tcp" && entryPoints[name].servesHTTP3() {
			first[address] = name
			address.Network = "udp"
			other, taken = first[address]
		}
		if !taken {
			first[address] = name
			continue
		}
		if entryPoints[name].ReusePort && entryPoints[other].ReusePort {
			continue
		}
		// The entrypoint that was added by itself is not the one to blame.
		if _, written := l.find([]string{"entryPoints", name, "address"}); !written {
			name, other = other, name
		}
		reason := fmt.Sprintf("the entrypoint %s listens on %s too", shorten(other), entryPoints[other].Address)
		l.fail(reason, "entryPoints", name, "address")
	}
}

func (l *loader) file() {
	file := l.Configuration.Providers.File
	switch {
	case file == nil:
	case file.Filename != "" && file.Directory != "":
		l.fail("filename and directory exclude each other", "providers", "file", "filename")
	case file.Filename == "" && file.Directory == "":
		l.fail("names neither a filename nor a directory", "providers", "file")
	}
}

func (l *loader) dns() {
	dns := l.Configuration.Providers.DNS
	for i, resolver := range dns.Resolvers {
		if !isResolver(resolver) {
			reason := fmt.Sprintf("expected the IP address of a DNS server with or without a port, got %s", shorten(resolver))
			l.fail(reason, "providers", "dns", "resolvers", index(i))
		}
	}
	if dns.MinTTL > dns.MaxTTL {
		reason := fmt.Sprintf("%s is longer than maxTTL, which is %s", dns.MinTTL, dns.MaxTTL)
		if _, written := l.find([]string{"providers", "dns", "minTTL"}); written {
			l.fail(reason, "providers", "dns", "minTTL")
			return
		}
		l.fail(fmt.Sprintf("is shorter than minTTL, which is %s", dns.MinTTL), "providers", "dns", "maxTTL")
	}
}

// isResolver reports whether text is an IP address, alone or with a port.
func isResolver(text string) bool {
	if _, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return true
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, hostErr := netip.ParseAddr(host)
	n, portErr := strconv.ParseUint(port, 10, 16)
	return hostErr == nil && portErr == nil && n > 0
}

// precedence checks the names of providers before those that were not written are added.
func (l *loader) precedence() {
	var usual Providers
	usual.SetDefaults()
	for i, written := range l.Configuration.Providers.Precedence {
		name := strings.ToLower(written)
		if !slices.Contains(usual.Precedence, name) && !strings.HasPrefix(name, "plugin-") {
			reason := fmt.Sprintf("no provider has the name %s%s", shorten(written), didYouMean(nearest(name, usual.Precedence)))
			l.fail(reason, "providers", "precedence", index(i))
		}
	}
}

// management checks what Sluice serves about itself.
func (l *loader) management() {
	c := l.Configuration
	if c.Ping != nil && !c.Ping.ManualRouting {
		l.exists(c.Ping.EntryPoint, "ping", "entryPoint")
	}
	if c.Metrics != nil && c.Metrics.Prometheus != nil && !c.Metrics.Prometheus.ManualRouting {
		l.exists(c.Metrics.Prometheus.EntryPoint, "metrics", "prometheus", "entryPoint")
	}
	if c.API != nil && !strings.HasPrefix(c.API.BasePath, "/") {
		l.fail(fmt.Sprintf("expected a path that begins with /, got %s", shorten(c.API.BasePath)), "api", "basePath")
	}
}

// shorten quotes the beginning of a value.
func shorten(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "..."
	}
	return strconv.Quote(text)
}
