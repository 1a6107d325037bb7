package static

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// validator checks what no single value shows.
type validator struct {
	*Configuration
	root   *setting
	report *report
}

// validate reports what is wrong with a complete configuration.
func validate(loaded Loaded, r *report) {
	v := validator{Configuration: loaded.Configuration, root: loaded.root, report: r}
	names := slices.Sorted(maps.Keys(v.EntryPoints))
	for _, name := range names {
		v.entryPoint(name, v.EntryPoints[name])
	}
	v.sameAddress(names)
	v.file()
	v.dns()
	v.precedence()
	v.management()
	if v.Core != nil && v.Core.DefaultRuleSyntax != "" && !strings.EqualFold(v.Core.DefaultRuleSyntax, "v3") {
		v.warn("rules are read as v3 whatever it says", "core", "defaultRuleSyntax")
	}
}

func (v validator) fail(reason string, path ...string) {
	from, option := v.root.locate(path...)
	v.report.add(Error, from, option, reason)
}

func (v validator) warn(reason string, path ...string) {
	from, option := v.root.locate(path...)
	v.report.add(Warning, from, option, reason)
}

// wrote reports whether an option was written, so that a finding about its value is about that.
func (v validator) wrote(path ...string) bool {
	s := v.root
	for _, name := range path {
		if s = s.child(name); s == nil {
			return false
		}
	}
	return s.written
}

func (v validator) entryPoint(name string, e *EntryPoint) {
	address, err := e.ListenAddress()
	switch {
	case e.Address == "":
		v.fail("is missing, expected [host]:port[/tcp|/udp]", "entryPoints", name, "address")
	case err != nil:
		v.fail(err.Error(), "entryPoints", name, "address")
	case address.Network == "udp":
		v.warn("UDP is not supported yet: nothing listens on this entrypoint", "entryPoints", name, "address")
	}
	v.trusted(e.ForwardedHeaders.TrustedIPs, "entryPoints", name, "forwardedHeaders", "trustedIPs")
	if pp := e.ProxyProtocol; pp != nil {
		v.trusted(pp.TrustedIPs, "entryPoints", name, "proxyProtocol", "trustedIPs")
		if !pp.Insecure && len(pp.TrustedIPs) == 0 {
			v.warn("no peer is trusted, so that no PROXY header is believed; set trustedIPs", "entryPoints", name, "proxyProtocol")
		}
	}
	if redirections := e.HTTP.Redirections; redirections != nil && redirections.EntryPoint != nil {
		v.redirection(name, redirections.EntryPoint)
	}
}

// trusted checks a list of addresses and CIDR ranges.
func (v validator) trusted(ips []string, path ...string) {
	for i, ip := range ips {
		_, err := netip.ParseAddr(ip)
		if strings.Contains(ip, "/") {
			_, err = netip.ParsePrefix(ip)
		}
		if err != nil {
			reason := fmt.Sprintf("expected an IP address or a CIDR range, got %s", shorten(ip))
			v.fail(reason, append(slices.Clone(path), index(i))...)
		}
	}
}

func (v validator) redirection(name string, redirect *RedirectEntryPoint) {
	path := []string{"entryPoints", name, "http", "redirections", "entryPoint", "to"}
	switch port, isPort := strings.CutPrefix(redirect.To, ":"); {
	case redirect.To == "":
		v.fail("is missing, expected the name of an entrypoint or :port", path...)
	case isPort:
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			v.fail(fmt.Sprintf("bad port %s, expected a number from 1 to 65535", shorten(port)), path...)
		}
	default:
		v.exists(redirect.To, path...)
	}
}

// exists checks that an entrypoint exists and speaks TCP.
func (v validator) exists(name string, path ...string) {
	target, ok := v.EntryPoints[name]
	if !ok {
		known := slices.Sorted(maps.Keys(v.EntryPoints))
		v.fail(fmt.Sprintf("no entrypoint has the name %s%s", shorten(name), didYouMean(name, known)), path...)
		return
	}
	if address, err := target.ListenAddress(); err == nil && address.Network == "udp" {
		v.fail(fmt.Sprintf("the entrypoint %s is a UDP one", shorten(name)), path...)
	}
}

// sameAddress finds entrypoints that would listen on the same address. Port 0 is a different port each time.
func (v validator) sameAddress(names []string) {
	first := map[Address]string{}
	for _, name := range names {
		address, err := v.EntryPoints[name].ListenAddress()
		if err != nil || address.Port == 0 {
			continue
		}
		if ip, err := netip.ParseAddr(address.Host); err == nil && ip.IsUnspecified() {
			address.Host = ""
		}
		other, taken := first[address]
		if !taken {
			first[address] = name
			continue
		}
		if v.EntryPoints[name].ReusePort && v.EntryPoints[other].ReusePort {
			continue
		}
		// The entrypoint that was added by itself is not the one to blame.
		if !v.wrote("entryPoints", name, "address") {
			name, other = other, name
		}
		reason := fmt.Sprintf("the entrypoint %s listens on %s too", shorten(other), v.EntryPoints[other].Address)
		v.fail(reason, "entryPoints", name, "address")
	}
}

func (v validator) file() {
	file := v.Providers.File
	switch {
	case file == nil:
	case file.Filename != "" && file.Directory != "":
		v.fail("filename and directory exclude each other", "providers", "file", "filename")
	case file.Filename == "" && file.Directory == "":
		v.fail("names neither a filename nor a directory", "providers", "file")
	}
}

func (v validator) dns() {
	for i, resolver := range v.Providers.DNS.Resolvers {
		if !isResolver(resolver) {
			reason := fmt.Sprintf("expected the IP address of a DNS server with or without a port, got %s", shorten(resolver))
			v.fail(reason, "providers", "dns", "resolvers", index(i))
		}
	}
	if v.Providers.DNS.MinTTL > v.Providers.DNS.MaxTTL {
		reason := fmt.Sprintf("%s is longer than maxTTL, which is %s", v.Providers.DNS.MinTTL, v.Providers.DNS.MaxTTL)
		if v.wrote("providers", "dns", "minTTL") {
			v.fail(reason, "providers", "dns", "minTTL")
			return
		}
		v.fail(fmt.Sprintf("is shorter than minTTL, which is %s", v.Providers.DNS.MinTTL), "providers", "dns", "maxTTL")
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

func (v validator) precedence() {
	var usual Providers
	usual.SetDefaults()
	s := v.root.child("providers")
	if s != nil {
		s = s.child("precedence")
	}
	if s == nil {
		return
	}
	for i, element := range s.items {
		name := strings.ToLower(element.text)
		if !slices.Contains(usual.Precedence, name) && !strings.HasPrefix(name, "plugin-") {
			reason := fmt.Sprintf("no provider has the name %s%s", shorten(element.text), didYouMean(name, usual.Precedence))
			v.fail(reason, "providers", "precedence", index(i))
		}
	}
}

// management checks what Sluice serves about itself.
func (v validator) management() {
	if v.Ping != nil && !v.Ping.ManualRouting {
		v.exists(v.Ping.EntryPoint, "ping", "entryPoint")
	}
	if v.Metrics != nil && v.Metrics.Prometheus != nil && !v.Metrics.Prometheus.ManualRouting {
		v.exists(v.Metrics.Prometheus.EntryPoint, "metrics", "prometheus", "entryPoint")
	}
	if v.API != nil && !strings.HasPrefix(v.API.BasePath, "/") {
		v.fail(fmt.Sprintf("expected a path that begins with /, got %s", shorten(v.API.BasePath)), "api", "basePath")
	}
}
