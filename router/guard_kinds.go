package router

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
)

// guarding returns when a middleware decides who gets in, and why it does not where one would think so. What can't be told counts as
// letting everybody in. A definition with a fault needs no answer: its routers serve nobody.
func (c *Compiler) guarding(name string, definition *dynamic.Middleware) access {
	switch {
	case definition.BasicAuth != nil || definition.DigestAuth != nil:
		return access{guards: always} // Without users they are a fault.
	case definition.ForwardAuth != nil:
		if c.asksItself(definition.ForwardAuth.Address) {
			return missing(always, "forwardAuth "+name+" asks an entrypoint of Sluice itself")
		}
		return access{guards: always}
	case definition.JWT != nil:
		return tokens(name, definition.JWT)
	case definition.IPAllowList != nil:
		return listing("ipAllowList "+name, definition.IPAllowList.SourceRange, definition.IPAllowList.IPStrategy)
	case definition.IPWhiteList != nil:
		return listing("ipWhiteList "+name, definition.IPWhiteList.SourceRange, definition.IPWhiteList.IPStrategy)
	}
	return access{}
}

// missing returns the access of a middleware that guards in all situations but some.
func missing(on situations, why string) access {
	return access{guards: always &^ on, misses: []miss{{on, why}}}
}

// tokens judges a jwt. The key sets of providers of identity sign tokens for whoever has an account there.
func tokens(name string, config *dynamic.JWT) access {
	named := slices.ContainsFunc(config.Claims, func(claim dynamic.JWTClaim) bool { return len(claim.Values) > 0 })
	if config.JwksURL+config.JwksFile+config.Jwks != "" && len(config.Issuers) == 0 && len(config.Audiences) == 0 && !named {
		return missing(always, "jwt "+name+" takes every token that its key set has signed: it names no issuers, audiences or values of claims")
	}
	return access{guards: always}
}

// listing judges a list of addresses.
func listing(what string, sources []string, strategy *dynamic.IPStrategy) access {
	if strategy != nil && strategy.IPv6Subnet != nil {
		sources = widened(sources, *strategy.IPv6Subnet)
	}
	if listed, err := canonical.NewTrust(sources); err == nil && listed.Everybody() {
		return missing(always, what+" lists half of the Internet or more")
	}
	if strategy != nil && (strategy.Depth > 0 || len(strategy.ExcludedIPs) > 0) {
		return missing(forwardable|pretended, what+" reads X-Forwarded-For, which anybody may write on that entrypoint")
	}
	return missing(pretended, what+" reads the address of a PROXY header, which anybody may send to that entrypoint")
}

// widened returns the sources with IPv6 prefixes no longer than bits: the first address of a subnet stands for all of it.
func widened(sources []string, bits int) []string {
	wide := make([]string, len(sources))
	for i, source := range sources {
		wide[i] = source
		address, _, _ := strings.Cut(source, "/")
		addr, err := netip.ParseAddr(address)
		if err != nil || addr.Unmap().Is4() {
			continue
		}
		length := addr.BitLen()
		if prefix, err := netip.ParsePrefix(source); err == nil {
			length = prefix.Bits()
		}
		if prefix, err := addr.Prefix(min(length, bits)); err == nil {
			wide[i] = prefix.String()
		}
	}
	return wide
}

// asksItself tells whether a URL leads to an entrypoint by a loopback address. What answers there may be anything, such as ping.
func (c *Compiler) asksItself(address string) bool {
	asked, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(asked.Hostname(), ".")
	ip, err := netip.ParseAddr(host)
	own := err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsUnspecified())
	if !own && !strings.EqualFold(host, "localhost") {
		return false
	}
	port := asked.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(asked.Scheme)]
	}
	return slices.ContainsFunc(c.options.EntryPoints, func(e EntryPoint) bool { return strconv.Itoa(e.Port) == port })
}
