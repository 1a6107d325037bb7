package api

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/telemetry"
)

// foreignHost is the answer to a request that refusesHost refuses.
const foreignHost = "the Host of a request to a loopback address has to be an IP address, localhost or the name of " +
	"this machine, unless the rule of the router names it, or a user is authenticated"

// refusesHost reports whether a request has come over a loopback address without TLS, for a name that a web page could
// have: in DNS any name can have that address, and the page has the origin of the entrypoint then (DNS rebinding). A
// name that the rule of the router requires is the operator's, and a page has no credentials for its own name.
func refusesHost(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || r.TLS != nil {
		return false
	}
	address, known := forwarded.ClientAddr(local.String())
	if !known || !address.IsLoopback() {
		return false
	}
	record := telemetry.RecordFrom(r.Context())
	host := record.Host // A middleware may have changed that of the request.
	if host == "" {
		host = r.Host
	}
	return !record.HostNamed && !record.Authenticated && !isLocalName(host)
}

// isLocalName reports whether a host is an address or a name that only this machine gives itself. Clients without a
// Host are no browsers.
func isLocalName(host string) bool {
	if host == "" {
		return true
	}
	name, ok := canonical.Host(host)
	if !ok {
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // Browsers resolve them themselves.
		return true
	}
	machine, err := os.Hostname()
	return err == nil && strings.EqualFold(name, strings.TrimSuffix(machine, "."))
}
