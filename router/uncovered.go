package router

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/rule"
)

// mostUncovered is how many hosts without a certificate a verdict names.
const mostUncovered = 3

// uncovered holds the hosts of the rules of an entrypoint that no certificate covers, each with the name of its first
// router. It is immutable.
type uncovered struct {
	routers immutable.Map[string, string]
}

// update returns the uncovered hosts after an exchange of routes, of which touched are the old and the new ones. All
// says that the certificates have changed.
func (u uncovered) update(of hosts, touched []*index.Route[*Route], covers func(host string) bool, all bool) uncovered {
	e := new(immutable.Edit)
	check := func(name string) {
		router := of.known.Get(name).uncertified()
		if router != "" && covers(name) {
			router = ""
		}
		switch before := u.routers.Get(name); {
		case router == before: // Also for a host that is in neither.
		case router == "":
			u.routers.Delete(e, name)
		default:
			u.routers.Set(e, name, router)
		}
	}
	for _, route := range touched {
		for _, name := range route.Value.domains {
			check(name)
		}
	}
	if all {
		for name := range of.known.Keys() {
			check(name)
		}
	}
	return u
}

// uncertified returns the name of the first router of a host that needs a certificate and names no resolver, on which
// there is a verdict of its own; or "".
func (h *host) uncertified() string {
	if h == nil {
		return ""
	}
	for _, route := range h.routes {
		if !route.Value.certResolver {
			return route.Name
		}
	}
	return ""
}

// covering returns whether clients of a host get a certificate that was configured, on an entrypoint. Clients send no
// server name for an address (RFC 6066, section 3), so that none is missing for it.
func (t *tlsObjects) covering(entryPoint string) func(host string) bool {
	set, hasDefault := t.next.On(entryPoint), t.hasDefault && !dynamic.NamesListener(entryPoint)
	return func(host string) bool {
		if domain, suffix := strings.CutPrefix(host, rule.SuffixMark); suffix {
			host = "*." + domain // Certificates have wildcards of one label alone.
		}
		if hasDefault || set.Covers(host) {
			return true
		}
		_, err := netip.ParseAddr(host)
		return err == nil
	}
}

// uncoveredVerdict returns the verdict on the hosts without a certificate of all entrypoints; its reason is empty when
// there is none. It names the default store, whose certificate would cover them.
func uncoveredVerdict(entries map[string]*entry) dynamic.Verdict {
	routers, listeners := map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		for host, router := range entries[name].uncovered.routers.All() {
			if _, known := routers[host]; !known {
				routers[host] = router
				if dynamic.NamesListener(name) {
					listeners[host] = name
				}
			}
		}
	}
	if len(routers) == 0 {
		return dynamic.Verdict{}
	}
	names := slices.Sorted(maps.Keys(routers))
	first, listed := routers[names[0]], strings.Join(names[:min(len(names), mostUncovered)], ", ")
	if len(names) > mostUncovered { // Their number would make a new verdict of each change among many hosts.
		listed += " and others"
	}
	advice := "clients get a generated certificate: add one to tls.certificates, or set " +
		"tls.stores.default.defaultCertificate"
	if listener := listeners[names[0]]; listener != "" {
		advice = fmt.Sprintf("clients get one for other hosts: add one to the listener %q", listener)
	}
	return dynamic.Verdict{
		Ref:    dynamic.Ref{Kind: dynamic.KindTLSStore, Name: dynamic.DefaultTLSName},
		Status: dynamic.Degraded, Code: dynamic.CodeMissingCertificate,
		Reason: fmt.Sprintf("no certificate covers these hosts of routers with TLS: %s (first router: %s); %s",
			listed, first, advice),
		Cause: dynamic.Ref{Kind: dynamic.KindRouter, Name: first},
	}
}
