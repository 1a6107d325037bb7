package dynamic

import (
	"time"

	ptypes "github.com/traefik/paerser/types"
)

// TCPRouter binds TCP connections that a rule selects to a service (tcp.routers.<name>).
type TCPRouter struct {
	// EntryPoints are the names of the entrypoints whose connections the router takes. Default: the entrypoints with
	// asDefault, or all when there is none.
	EntryPoints []string `json:"entryPoints,omitempty"`
	// Middlewares are names of TCP middlewares, each as name or name@provider. A connection passes them in this order.
	Middlewares []string `json:"middlewares,omitempty"`
	// Service is the name of the TCP service that gets the connections, as name or name@provider. Required.
	Service string `json:"service,omitempty"`
	// Rule selects the connections, by HostSNI, HostSNIRegexp, ClientIP and ALPN. A HostSNI other than `*` needs TLS.
	// Required.
	Rule string `json:"rule,omitempty"`
	// RuleSyntax is the language of the rule: v3. v2 is not supported for TCP.
	RuleSyntax string `json:"ruleSyntax,omitempty"`
	// Priority decides between routers whose rules match the same connection: the higher one gets it. The default, 0,
	// means the length of the rule in bytes, and -1 for HostSNI(`*`) alone.
	Priority int `json:"priority,omitempty"`
	// Created orders routers of equal priority, older first. The zero time is the oldest. Providers alone set it.
	Created time.Time `json:"-" label:"-"`
	// TLS makes the router take connections with TLS only. Without this section it takes only those without TLS.
	TLS *TCPRouterTLS `json:"tls,omitempty" label:"allowEmpty"`
}

// TCPRouterTLS is the TLS part of a TCP router.
type TCPRouterTLS struct {
	// Passthrough hands the connection to the service as it comes, still encrypted. The other options then have no effect.
	Passthrough bool `json:"passthrough,omitempty"`
	// Options is the name of the TLS options for the connections of the router. Default: those named default.
	Options string `json:"options,omitempty"`
	// CertResolver is the name of the resolver that obtains certificates (certificatesResolvers of the static
	// configuration).
	CertResolver string `json:"certResolver,omitempty"`
	// Domains are the names of the certificates that the resolver obtains, one for each entry. Default: one certificate
	// for the hosts of the rule. Without a resolver they have no effect.
	Domains []Domain `json:"domains,omitempty"`
}

// TCPService is a destination of TCP connections (tcp.services.<name>). Exactly one kind is set.
type TCPService struct {
	// LoadBalancer sends connections to servers.
	LoadBalancer *TCPServersLoadBalancer `json:"loadBalancer,omitempty"`
	// Weighted splits connections over several services.
	Weighted *TCPWeightedRoundRobin `json:"weighted,omitempty"`
}

// TCPServersLoadBalancer balances connections over servers, listed here or named by an endpoint set.
type TCPServersLoadBalancer struct {
	// Strategy chooses the server for a connection: wrr, p2c, leastrequest (fewest open connections), or hrw and hash,
	// which keep a client's address on one server.
	Strategy string `json:"strategy,omitempty"`
	// Servers are the addresses that take connections.
	Servers []TCPServer `json:"servers,omitempty"`
	// ServersTransport is the name of the TCP serversTransport that makes the connections. Default: the one of the static
	// option tcpServersTransport (default@internal).
	ServersTransport string `json:"serversTransport,omitempty"`
	// ProxyProtocol sends a PROXY header, except for checks. Deprecated: use proxyProtocol of the serversTransport, which
	// comes first.
	ProxyProtocol *ProxyProtocol `json:"proxyProtocol,omitempty" label:"allowEmpty"`
	// TerminationDelay is that of the serversTransport, in milliseconds, which comes first where the service names one.
	// Deprecated.
	TerminationDelay *int `json:"terminationDelay,omitempty"`
	// HealthCheck connects to each server and takes out those that fail. Off without this section.
	HealthCheck *TCPServerHealthCheck `json:"healthCheck,omitempty" label:"allowEmpty"`
	// OutlierDetection takes a server out after failures to connect, for longer each time. It is on, with its defaults,
	// without this section. Status has no effect here.
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// PanicThreshold is a share of healthy servers, 0 to 100 percent. Below it, all servers get connections, also
	// unhealthy ones. 0 turns this off.
	PanicThreshold int `json:"panicThreshold,omitempty"`
	// SlowStart is the time in which the share of a server that joins or recovers grows to its full size. 0 gives it the
	// full share at once.
	SlowStart ptypes.Duration `json:"slowStart,omitempty"`
	// ZoneAware prefers (true) the endpoints in the zone of Sluice, or ignores zones (false). Default: only the hints of
	// EndpointSlices count.
	ZoneAware *bool `json:"zoneAware,omitempty"`
	// DrainTimeout is how long connections to a removed server may go on before they are closed. 0 sets no limit.
	DrainTimeout ptypes.Duration `json:"drainTimeout,omitempty"`
	// Attempts is how many further servers are tried after one could not be connected to, 0 to 100. Each of them may take
	// the dialTimeout of the serversTransport.
	Attempts *int `json:"attempts,omitempty"`
	// Limits bounds the open connections. Without this section there is no limit.
	Limits *ServerLimits `json:"limits,omitempty"`

	// EndpointSet names the set of the endpoint lane that lists the servers (source/namespace/service:port). It is set
	// by providers that watch endpoints, instead of Servers, and is no key of files or labels.
	EndpointSet string `json:"-" label:"-"`
	// TLS says that connections to the endpoints of EndpointSet use TLS.
	TLS bool `json:"-" label:"-"`
}

// SetDefaults takes turns by weight, and tries two further servers.
func (l *TCPServersLoadBalancer) SetDefaults() {
	l.Strategy, l.Attempts = StrategyWRR, pointerTo(2)
}

// TCPServer is one server of a TCP load balancer.
type TCPServer struct {
	// Address is the server as host:port. Required.
	Address string `json:"address,omitempty" secret:"url"`
	// TLS connects to the server with TLS, as the serversTransport says.
	TLS bool `json:"tls,omitempty"`
	// Weight is the share of connections relative to the other servers. 0 drains the server.
	Weight *int `json:"weight,omitempty"`
}

// SetDefaults materialises the default weight.
func (s *TCPServer) SetDefaults() { s.Weight = pointerTo(1) }

// ProxyProtocol is the PROXY header that is sent to a server.
type ProxyProtocol struct {
	// Version is the version of the PROXY protocol, 1 or 2.
	Version int `json:"version,omitempty"`
	// TLVs adds to version 2 what is known of the client's TLS: the server name (PP2_TYPE_AUTHORITY), the protocol that
	// was agreed on or, with passthrough, the only one that the client offers (PP2_TYPE_ALPN), and for connections whose
	// TLS ends at Sluice its version, cipher suite and client certificate's common name (PP2_TYPE_SSL).
	TLVs bool `json:"tlvs,omitempty"`
}

// SetDefaults sets version 2.
func (p *ProxyProtocol) SetDefaults() { p.Version = 2 }

// TCPServerHealthCheck is the active check of each server of a TCP load balancer.
type TCPServerHealthCheck struct {
	// Port is the port of the check, 1 to 65535. Default: that of the server.
	Port int `json:"port,omitempty"`
	// Send is what is sent once the connection is established.
	Send string `json:"send,omitempty" secret:"true"`
	// Expect is what the server must answer with. Without it a connection that can be established is enough.
	Expect string `json:"expect,omitempty" secret:"true"`
	// Interval is the time from the start of a check to the start of the next one.
	Interval ptypes.Duration `json:"interval,omitempty"`
	// UnhealthyInterval is the same for a server that is down. Default: the same as interval.
	UnhealthyInterval *ptypes.Duration `json:"unhealthyInterval,omitempty"`
	// Timeout is how long one check may take.
	Timeout ptypes.Duration `json:"timeout,omitempty"`
	// Rise is how many successful checks in a row bring a server back; at least 1. The first check decides alone.
	Rise *int `json:"rise,omitempty"`
	// Fall is how many failed checks in a row take a server out; at least 1. The first check decides alone.
	Fall *int `json:"fall,omitempty"`
	// Jitter is by how much an interval is longer or shorter at random, 0 to 100 percent of it.
	Jitter *int `json:"jitter,omitempty"`
}

// SetDefaults sets an interval of 30 s with a jitter of 10 %, a time-out of 5 s, and verdicts by one result.
func (h *TCPServerHealthCheck) SetDefaults() {
	h.Interval, h.Timeout = ptypes.Duration(30e9), ptypes.Duration(5e9)
	h.Rise, h.Fall, h.Jitter = pointerTo(1), pointerTo(1), pointerTo(10)
}

// TCPWeightedRoundRobin splits connections over services by weight.
type TCPWeightedRoundRobin struct {
	// Services are the services to choose from.
	Services []WeightedService `json:"services,omitempty"`
	// HealthCheck, as {}, skips services that are down. Without it they keep their share, and those connections are
	// closed.
	HealthCheck *HealthCheck `json:"healthCheck,omitempty" label:"allowEmpty"`
}

// TCPMiddleware is a step between TCP router and service (tcp.middlewares.<name>). Exactly one kind is set.
type TCPMiddleware struct {
	// IPAllowList accepts connections of some addresses only.
	IPAllowList *TCPIPAllowList `json:"ipAllowList,omitempty"`
	// IPWhiteList is IPAllowList by its former name. Deprecated.
	IPWhiteList *TCPIPAllowList `json:"ipWhiteList,omitempty"`
	// InFlightConn bounds the open connections of each client.
	InFlightConn *TCPInFlightConn `json:"inFlightConn,omitempty"`
	// RateLimit bounds the new connections of each client in time.
	RateLimit *TCPRateLimit `json:"rateLimit,omitempty"`
}

// TCPIPAllowList closes connections of all other addresses.
type TCPIPAllowList struct {
	// SourceRange are addresses and CIDR ranges. Required.
	SourceRange []string `json:"sourceRange,omitempty"`
}

// TCPInFlightConn bounds the open connections of each client address.
type TCPInFlightConn struct {
	// Amount is how many connections of one address may be open at once; more are closed. At least 1.
	Amount int64 `json:"amount,omitempty"`
}

// TCPRateLimit bounds the new connections of each client address, an IPv6 client counting by its /64.
type TCPRateLimit struct {
	// Average is how many connections an address may open in each period. At least 1.
	Average int64 `json:"average,omitempty"`
	// Period is the time that Average is for.
	Period ptypes.Duration `json:"period,omitempty"`
	// Burst is how many connections an address may open at once after a rest. At least 1.
	Burst int64 `json:"burst,omitempty"`
}

// SetDefaults sets a burst of 1 and a period of 1 s.
func (r *TCPRateLimit) SetDefaults() { r.Burst, r.Period = 1, ptypes.Duration(1e9) }

// TCPServersTransport says how connections to servers are made (tcp.serversTransports.<name>).
type TCPServersTransport struct {
	// DialTimeout is how long it may take to connect to one server, with the PROXY header and the TLS handshake. 0 sets no
	// limit.
	DialTimeout ptypes.Duration `json:"dialTimeout,omitempty"`
	// DialKeepAlive is the time between TCP keep-alive probes. 0 means 15 s, a negative number sends none.
	DialKeepAlive ptypes.Duration `json:"dialKeepAlive,omitempty"`
	// TerminationDelay is how long one side may go on sending after the other has ended its direction. 0 closes both at
	// once, a negative number sets no limit.
	TerminationDelay ptypes.Duration `json:"terminationDelay,omitempty"`
	// IdleTimeout closes connections on which no byte has moved for so long. 0 sets no limit.
	IdleTimeout ptypes.Duration `json:"idleTimeout,omitempty"`
	// ProxyProtocol sends a PROXY header before anything else; that of a check names no client. Without this section none
	// is sent.
	ProxyProtocol *ProxyProtocol `json:"proxyProtocol,omitempty" label:"allowEmpty"`
	// TLS is for servers with tls: true. Without this section their certificates must be valid for the host of the
	// server's address.
	TLS *TCPClientTLS `json:"tls,omitempty" label:"allowEmpty"`

	// FilesRevision identifies the contents of the files that are named here, so that the object changes when one
	// of them does. Providers that watch the files set it; it is no key of files or labels.
	FilesRevision uint64 `json:"-" label:"-"`
}

// SetDefaults sets dial 30 s, keep-alive 15 s, termination delay 100 ms.
func (t *TCPServersTransport) SetDefaults() {
	t.DialTimeout, t.DialKeepAlive = ptypes.Duration(30e9), ptypes.Duration(15e9)
	t.TerminationDelay = ptypes.Duration(100 * time.Millisecond)
}

// TCPClientTLS is the TLS of connections to servers.
type TCPClientTLS struct {
	// ServerName is the name for SNI and for the verification of the server's certificate. Default: the host of the
	// server's address.
	ServerName string `json:"serverName,omitempty"`
	// InsecureSkipVerify accepts any certificate of the server.
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// DisableSNI sends no server name in TLS handshakes; certificates are verified as otherwise. Ours.
	DisableSNI bool `json:"disableSNI,omitempty"`
	// VerifyDepth is how many intermediate certificates may be between the server's certificate and the authority, at
	// least 0. It excludes InsecureSkipVerify. Default: any number. Ours.
	VerifyDepth *int `json:"verifyDepth,omitempty"`
	// RootCAs are certificate authorities for the server's certificate, each as a file or as PEM. Default: those of the
	// system.
	RootCAs []string `json:"rootCAs,omitempty" secret:"file"`
	// Certificates are presented to servers that request one (mTLS).
	Certificates []Certificate `json:"certificates,omitempty"`
	// PeerCertURI is a URI that the server's certificate must carry, unless it carries one of PeerCertSANs.
	PeerCertURI string `json:"peerCertURI,omitempty"`
	// PeerCertSANs are names of which the server's certificate must carry one.
	PeerCertSANs []PeerCertSAN `json:"peerCertSANs,omitempty"`
	// Spiffe authenticates to servers and verifies theirs by SPIFFE identities, as that of an HTTP serversTransport does.
	Spiffe *Spiffe `json:"spiffe,omitempty" label:"allowEmpty"`
}
