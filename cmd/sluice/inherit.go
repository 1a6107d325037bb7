package main

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

// inherited returns what routers inherit from the TCP entrypoints, in the order of their names. Without asDefault
// anywhere, all of them but the internal one take routers that name no entrypoint.
func inherited(config *static.Configuration) ([]router.EntryPoint, error) {
	explicit := false
	for _, declared := range config.EntryPoints {
		explicit = explicit || declared.AsDefault
	}
	var found []router.EntryPoint
	for _, name := range slices.Sorted(maps.Keys(config.EntryPoints)) {
		declared := config.EntryPoints[name]
		address, err := declared.ListenAddress()
		if err != nil {
			return nil, fmt.Errorf("entrypoint %q: %w", name, err)
		}
		if address.Network != "tcp" {
			continue
		}
		found = append(found, router.EntryPoint{
			Name:        name,
			Port:        int(address.Port),
			Policy:      entrypoint.Policy(&declared.HTTP),
			Default:     declared.AsDefault || (!explicit && name != static.InternalEntryPoint),
			Middlewares: declared.HTTP.Middlewares,
			TLS:         routerTLS(declared.HTTP.TLS),
			Observe:     observed(&declared.Observability),
			Loopback:    loopback(address.Host),

			AnyForwarded: declared.ForwardedHeaders.Insecure || everybody(declared.ForwardedHeaders.TrustedIPs),
			AnyPeer:      declared.ProxyProtocol != nil && (declared.ProxyProtocol.Insecure || everybody(declared.ProxyProtocol.TrustedIPs)),
		})
	}
	return found, nil
}

// loopback reports whether an address is reached from this machine alone.
func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// everybody reports whether a list of trusted peers includes half of all addresses or more.
func everybody(trusted []forwarded.Range) bool { return forwarded.TrustOf(trusted).CoversMost() }

func routerTLS(config *static.TLS) *dynamic.RouterTLS {
	if config == nil {
		return nil
	}
	inherited := &dynamic.RouterTLS{Options: config.Options, CertResolver: config.CertResolver}
	for _, domain := range config.Domains {
		inherited.Domains = append(inherited.Domains, dynamic.Domain{Main: domain.Main, SANs: domain.SANs})
	}
	return inherited
}
