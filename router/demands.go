package router

import (
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/rule"
)

// need notes what a router needs of a resolver: a certificate for each of tls.domains, or else one for the hosts of
// its rule.
func (c *Compiler) need(ref dynamic.Ref, config *dynamic.RouterTLS, hosts []string, node *routerNode) {
	if config.CertResolver == "" {
		return
	}
	if !slices.Contains(c.options.Resolvers, config.CertResolver) {
		reason := missingResolver(config.CertResolver, c.options.Resolvers)
		node.warn(dynamic.CodeMissingReference, "tls.certResolver: "+reason)
		return
	}
	demand := certificate.Demand{Router: ref.Name, Resolver: config.CertResolver}
	for _, domain := range config.Domains {
		if names := append([]string{domain.Main}, domain.SANs...); domain.Main != "" {
			demand.Names = append(demand.Names, names)
		}
	}
	names := slices.DeleteFunc(slices.Clone(hosts), func(host string) bool {
		return strings.HasPrefix(host, rule.SuffixMark)
	})
	if len(config.Domains) == 0 && len(names) > 0 {
		demand.Names = [][]string{names}
	}
	if len(config.Domains) == 0 && len(names) < len(hosts) {
		node.warn(dynamic.CodeIneffectiveOption, "tls.certResolver: no certificate has all names of a HostSuffix; "+
			"tls.domains lists those that it is to have")
	}
	if !slices.ContainsFunc(node.demands, func(known certificate.Demand) bool { return equalDemands(known, demand) }) {
		node.demands = append(node.demands, demand)
	}
}

func equalDemands(a, b certificate.Demand) bool {
	return a.Router == b.Router && a.Resolver == b.Resolver && slices.EqualFunc(a.Names, b.Names, slices.Equal)
}

func sameDemands(a, b []certificate.Demand) bool { return slices.EqualFunc(a, b, equalDemands) }

// demand passes on what routers need, if it or the certificates have changed.
func (c *Compiler) demand() {
	if c.options.Demands == nil {
		return
	}
	if !c.demandsChanged && c.needed != nil {
		return
	}
	c.demandsChanged = false
	needed := []certificate.Demand{}
	for _, name := range slices.Sorted(maps.Keys(c.routers)) {
		needed = append(needed, c.routers[name].demands...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.tcp.routers)) {
		needed = append(needed, c.tcp.routers[name].demands...)
	}
	if c.tls.generated != nil {
		needed = append(needed, *c.tls.generated)
	}
	if c.needed == nil || !sameDemands(needed, c.needed) {
		c.needed = needed
	}
	c.options.Demands.Want(c.needed, c.tls.next.Configures)
}
