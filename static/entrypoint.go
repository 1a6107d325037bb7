package static

import (
	"time"

	"github.com/sluiceproxy/sluice/forwarded"
)

// DefaultEntryPoint is the name of the entrypoint that exists when none is configured.
const DefaultEntryPoint = "http"

// InternalEntryPoint is the name of the entrypoint that serves ping, metrics and the API by default.
const InternalEntryPoint = "traefik"

// EntryPoint is one address on which traffic comes in.
type EntryPoint struct {
	Address          string              `json:"address" description:"Where to listen, as [host]:port[/tcp|/udp]."`
	AllowACMEByPass  bool                `json:"allowACMEByPass" description:"Let routers of the user answer ACME challenges on this entrypoint."`
	AsDefault        bool                `json:"asDefault" description:"Attach routers that name no entrypoint to this one."`
	ReusePort        bool                `json:"reusePort" description:"Listen with SO_REUSEPORT, so that several processes share the port."`
	Transport        Transport           `json:"transport" description:"Limits in time and number of the connections."`
	ProxyProtocol    *ProxyProtocol      `json:"proxyProtocol" description:"The PROXY protocol, versions 1 and 2."`
	ForwardedHeaders ForwardedHeaders    `json:"forwardedHeaders" description:"Peers whose X-Forwarded-* headers are trusted."`
	HTTP             HTTP                `json:"http" description:"Options of HTTP on this entrypoint."`
	ForwardProxy     *ForwardProxy       `json:"forwardProxy" description:"Be an explicit forward proxy: requests to hosts that no router has go to the host that they name. The address must be a loopback address."`
	HTTP2            HTTP2               `json:"http2" description:"Options of HTTP/2 on this entrypoint."`
	HTTP3            *HTTP3              `json:"http3" description:"HTTP/3 on the UDP port of the same number. Its limits are those of HTTP/2 and transport."`
	TCP              *TCP                `json:"tcp" description:"Options of TCP routers on this entrypoint."`
	UDP              UDP                 `json:"udp" description:"Options of a UDP entrypoint."`
	Observability    EntryPointTelemetry `json:"observability" description:"What routers of this entrypoint record by default."`
}

// SetDefaults fills in the defaults of an entrypoint; its address has none.
func (e *EntryPoint) SetDefaults() {
	e.Transport.SetDefaults()
	e.ForwardedHeaders.SetDefaults()
	e.HTTP.SetDefaults()
	e.HTTP2.SetDefaults()
	e.UDP.SetDefaults()
	e.Observability.SetDefaults()
}

// ListenAddress returns the parsed form of Address. It fails when Address is not of the form [host]:port[/tcp|/udp];
// a configuration that was loaded without errors has none such.
func (e *EntryPoint) ListenAddress() (Address, error) {
	return ParseAddress(e.Address)
}

// servesHTTP3 reports whether the entrypoint also listens on the UDP port of the same number.
func (e *EntryPoint) servesHTTP3() bool { return e.HTTP3 != nil && !e.HTTP3.Withdrawn }

// ProxyProtocol says whose PROXY protocol headers are trusted.
type ProxyProtocol struct {
	Insecure   bool              `json:"insecure" description:"Believe the PROXY header of every peer."`
	TrustedIPs []forwarded.Range `json:"trustedIPs" description:"Addresses and CIDR ranges of the peers whose PROXY header is trusted."`
}

// ForwardedHeaders says whose X-Forwarded-* and Forwarded headers are trusted, and how they are written.
type ForwardedHeaders struct {
	Insecure                   bool              `json:"insecure" description:"Believe the forwarded headers of every peer."`
	TrustedIPs                 []forwarded.Range `json:"trustedIPs" description:"Addresses and CIDR ranges of the peers whose forwarded headers are trusted."`
	Connection                 []string          `json:"connection" description:"Names of headers that the Connection header may name and that are still forwarded."`
	Forwarded                  string            `json:"forwarded" description:"What happens to the Forwarded header of RFC 7239: trusted (removed from untrusted peers), append (the same, and an element for this hop is added) or keep (forwarded as received)." enum:"trusted,append,keep"`
	NotAppendXForwardedFor     bool              `json:"notAppendXForwardedFor" description:"Leave X-Forwarded-For as it was received."`
	AddXForwardedSchemeHeaders bool              `json:"addXForwardedSchemeHeaders" description:"Also set X-Forwarded-Scheme and X-Scheme."`
}

// SetDefaults removes Forwarded from untrusted peers.
func (f *ForwardedHeaders) SetDefaults() {
	f.Forwarded = "trusted"
}

// ForwardProxy makes an entrypoint an explicit forward proxy for the applications of the same pod or machine.
type ForwardProxy struct {
	DefaultHeaders  map[string]string `json:"defaultHeaders" description:"Headers that requests to routers get unless they have one of the name." secret:"true"`
	ShutdownQuiet   Duration          `json:"shutdownQuiet" description:"After SIGTERM, requests are accepted until none has come for this time; 0 stops at once." range:"0.."`
	ShutdownTimeout Duration          `json:"shutdownTimeout" description:"Longest time for shutdownQuiet." range:"0.."`
}

// SetDefaults stops at once, and waits 25 seconds at most if a time is set.
func (f *ForwardProxy) SetDefaults() {
	f.ShutdownTimeout = Duration(25 * time.Second)
}

// TCP holds the options of TCP routers on an entrypoint.
type TCP struct {
	PreferHTTP bool `json:"preferHTTP" description:"Give connections without TLS that begin with a request of HTTP to HTTP routers, also where a TCP router takes all connections. Servers that speak first then wait for their client, or ten seconds."`
}

// UDP holds the options of a UDP entrypoint.
type UDP struct {
	Timeout              Duration `json:"timeout" description:"How long a session is kept in which no datagram comes from either side."`
	MaxSessions          int      `json:"maxSessions" description:"Largest number of sessions at a time; the one that was idle for the longest time makes room for the next. Each costs a descriptor, a local port and about 5 KiB." range:"1.."`
	MaxSessionsPerClient int      `json:"maxSessionsPerClient" description:"Largest number of sessions of one client at a time, which is an IPv4 address or an IPv6 network of 64 bits; datagrams of further ones are dropped. 0 is no limit." range:"0.."`
}

// SetDefaults keeps an idle session for three seconds, and 10,000 sessions: the system has some 28,000 local ports for
// all entrypoints and whatever else connects.
func (u *UDP) SetDefaults() {
	u.Timeout = Duration(3 * time.Second)
	u.MaxSessions = 10_000
}

// EntryPointTelemetry says what routers of an entrypoint record unless they say otherwise.
type EntryPointTelemetry struct {
	AccessLogs     bool   `json:"accessLogs" description:"Write requests into the access log."`
	Metrics        bool   `json:"metrics" description:"Count requests."`
	Tracing        bool   `json:"tracing" description:"Send traces of sampled requests."`
	TraceVerbosity string `json:"traceVerbosity" description:"Spans of a trace: minimal (entrypoint and endpoint) or detailed (routers, middlewares and services too)." enum:"minimal,detailed"`
}

// SetDefaults records everything, with minimal traces.
func (o *EntryPointTelemetry) SetDefaults() {
	o.AccessLogs = true
	o.Metrics = true
	o.Tracing = true
	o.TraceVerbosity = "minimal"
}
