package static

import (
	"fmt"
	"net"
	"time"
)

// XDSProvider is an xDS server as a source of configuration: another Sluice with the option xds. Listeners are
// subscribed to by name when a request for their host comes.
type XDSProvider struct {
	Address       string     `json:"address" description:"Address of the xDS server, as host:port; without tls the host must be a loopback address, unless allowInsecure is set."`
	TLS           *ClientTLS `json:"tls" description:"TLS towards the server; its files are read again for each connection."`
	AllowInsecure bool       `json:"allowInsecure" description:"Connect to addresses other than loopback without TLS."`
	TokenFile     string     `json:"tokenFile" description:"File with the bearer token that is sent to the server; it is read again for each stream." secret:"file"`
	Node          string     `json:"node" description:"Name of this process in the lists of the server; by default the host name."`
	Namespace     string     `json:"namespace" description:"Namespace of hosts that are the name of a Service alone; without it, such hosts are not looked for."`
	EntryPoints   []string   `json:"entryPoints" description:"Entrypoints whose requests are routed to discovered hosts; by default as for routers that name none."`
	Names         []string   `json:"names" description:"Listeners that are always subscribed to: service.namespace:port, or name@provider for services that routers of other providers use as name.provider@xds."`
	MaxNames      int        `json:"maxNames" description:"Largest number of listeners that are subscribed to." range:"1.."`
	Timeout       Duration   `json:"timeout" description:"Longest time that a request for an unknown host waits for the server." range:"0.."`
	IdleTimeout   Duration   `json:"idleTimeout" description:"Time without requests after which a discovered listener is dropped; 0 keeps it." range:"0.."`
}

// SetDefaults sets 1,000 names, one second, and ten minutes.
func (x *XDSProvider) SetDefaults() {
	x.MaxNames = 1000
	x.Timeout = Duration(time.Second)
	x.IdleTimeout = Duration(10 * time.Minute)
}

// xdsProvider checks the address, and that a connection without TLS is wanted.
func (l *loader) xdsProvider() {
	x := l.Configuration.Providers.XDS
	if x == nil {
		return
	}
	host, port, err := net.SplitHostPort(x.Address)
	switch {
	case err != nil || host == "" || port == "":
		l.fail(fmt.Sprintf("bad address %q, expected host:port", shorten(x.Address)), "providers", "xds", "address")
	case x.TLS == nil && !x.AllowInsecure && !Loopback(host):
		l.fail("xDS without TLS is read from loopback addresses only; set tls, or allowInsecure",
			"providers", "xds", "address")
	}
	if len(x.Names) > x.MaxNames {
		l.fail(fmt.Sprintf("%d names are more than maxNames", len(x.Names)), "providers", "xds", "names")
	}
	for i, name := range x.Names {
		if name == "" {
			l.fail("the name is empty", "providers", "xds", "names", index(i))
		}
	}
}
