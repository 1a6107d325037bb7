package static

import "time"

// Transport limits the connections of an entrypoint in time and number.
type Transport struct {
	LifeCycle            LifeCycle          `json:"lifeCycle" description:"What happens when Sluice stops."`
	RespondingTimeouts   RespondingTimeouts `json:"respondingTimeouts" description:"Limits in time of a request."`
	KeepAliveMaxTime     Duration           `json:"keepAliveMaxTime" description:"Age at which a connection is closed after its current request; 0 is no limit." range:"0.."`
	KeepAliveMaxRequests int                `json:"keepAliveMaxRequests" description:"Number of requests after which a connection is closed; 0 is no limit." range:"0.."`
	Limits               Limits             `json:"limits" description:"Limits of the number of connections, and of their rate and that of requests."`
}

// SetDefaults sets Traefik's time-outs and no limit of the number of connections.
func (t *Transport) SetDefaults() {
	t.LifeCycle.SetDefaults()
	t.RespondingTimeouts.SetDefaults()
}

// LifeCycle says what happens between SIGTERM and the end of the process.
type LifeCycle struct {
	RequestAcceptGraceTimeout Duration `json:"requestAcceptGraceTimeout" description:"How long connections are still accepted after SIGTERM." range:"0.."`
	GraceTimeOut              Duration `json:"graceTimeOut" description:"How long active requests may take to finish after that." range:"0.."`
}

// SetDefaults gives active requests ten seconds.
func (l *LifeCycle) SetDefaults() {
	l.GraceTimeOut = Duration(10 * time.Second)
}

// RespondingTimeouts limits in time what a client does.
type RespondingTimeouts struct {
	ReadTimeout  Duration `json:"readTimeout" description:"Time to read the head of a request, and then the longest pause in its body until the response begins; 0 is no limit. HTTP/1.1 has to come with 240 bytes a second on average as well, after five seconds of grace." range:"0.."`
	WriteTimeout Duration `json:"writeTimeout" description:"Time from the end of the request's head to the end of the response; 0 is no limit." range:"0.."`
	IdleTimeout  Duration `json:"idleTimeout" description:"How long a connection without a request is kept; 0 is no limit." range:"0.."`
}

// SetDefaults sets 60 seconds for reading, none for writing, and 180 seconds for idle connections.
func (r *RespondingTimeouts) SetDefaults() {
	r.ReadTimeout = Duration(60 * time.Second)
	r.IdleTimeout = Duration(180 * time.Second)
}

// Limits bounds the number of connections that an entrypoint holds open, and how many of them and of requests begin in
// a second.
type Limits struct {
	MaxConnections             int `json:"maxConnections" description:"Largest number of open connections; 0 is no limit." range:"0.."`
	MaxConnectionsPerClient    int `json:"maxConnectionsPerClient" description:"Largest number of open connections of one client address; 0 is no limit." range:"0.."`
	MaxConnectionRate          int `json:"maxConnectionRate" description:"Largest number of new connections a second; 0 is no limit. Those beyond it are closed." range:"0.."`
	MaxConnectionRatePerClient int `json:"maxConnectionRatePerClient" description:"Largest number of new connections a second of one client: an IPv4 address, or a /64 of IPv6; 0 is no limit. Those beyond it are closed." range:"0.."`
	ConnectionBurst            int `json:"connectionBurst" description:"Number of new connections that may come at once, in total and of one client; 0 is as many as the rate allows in a second." range:"0.."`
	MaxHandshakes              int `json:"maxHandshakes" description:"Largest number of TLS handshakes over TCP that are computed at a time; others wait for at most as long as a handshake may take. 0 is four for each processor that may be used, -1 no limit." range:"-1.."`
	MaxHandshakeRate           int `json:"maxHandshakeRate" description:"Largest number of TLS handshakes a second, also of HTTP/3; 0 is no limit. Those beyond it fail." range:"0.."`
	MaxHandshakeRatePerClient  int `json:"maxHandshakeRatePerClient" description:"Largest number of TLS handshakes a second of one client: an IPv4 address, or a /64 of IPv6; 0 is no limit. Those beyond it fail." range:"0.."`
	MaxRequestRate             int `json:"maxRequestRate" description:"Largest number of requests a second; 0 is no limit. Those beyond it are answered with 429 before a router is chosen." range:"0.."`
	MaxRequestRatePerClient    int `json:"maxRequestRatePerClient" description:"Largest number of requests a second of one client: the IPv4 address of a connection, or its /64 of IPv6; 0 is no limit. Those beyond it are answered with 429 before a router is chosen." range:"0.."`
	RequestBurst               int `json:"requestBurst" description:"Number of requests that may come at once, in total and of one client; 0 is as many as the rate allows in a second." range:"0.."`
}

// ServersTransport says how endpoints are reached.
type ServersTransport struct {
	InsecureSkipVerify  bool               `json:"insecureSkipVerify" description:"Accept any certificate of an endpoint."`
	RootCAs             []string           `json:"rootCAs" description:"Certificate authorities for endpoints, as files or PEM text; none means those of the system." secret:"file"`
	MaxIdleConnsPerHost int                `json:"maxIdleConnsPerHost" description:"Largest number of idle connections to one endpoint; 0 is the default of 200, a negative number keeps none."`
	ForwardingTimeouts  ForwardingTimeouts `json:"forwardingTimeouts" description:"Limits in time of a request to an endpoint."`
	Spiffe              *SpiffeClient      `json:"spiffe" description:"Authenticate to endpoints and verify theirs by SPIFFE identities: of ids, else of trustDomain, else of every trust domain with a bundle. Needs spiffe.workloadAPIAddr, and excludes rootCAs and insecureSkipVerify."`
}

// DefaultMaxIdleConnsPerHost is the number of idle connections that are kept to one endpoint by default.
const DefaultMaxIdleConnsPerHost = 200

// SetDefaults keeps 200 idle connections to an endpoint and sets the time-outs.
func (s *ServersTransport) SetDefaults() {
	s.MaxIdleConnsPerHost = DefaultMaxIdleConnsPerHost
	s.ForwardingTimeouts.SetDefaults()
}

// ForwardingTimeouts limits in time what an endpoint does.
type ForwardingTimeouts struct {
	DialTimeout           Duration `json:"dialTimeout" description:"Time to connect to an endpoint; 0 is no limit." range:"0.."`
	ResponseHeaderTimeout Duration `json:"responseHeaderTimeout" description:"Time from the end of the request to the head of the response; 0 is no limit." range:"0.."`
	IdleConnTimeout       Duration `json:"idleConnTimeout" description:"How long an idle connection to an endpoint is kept; 0 is no limit." range:"0.."`
}

// SetDefaults sets 30 seconds for connecting and 90 seconds for idle connections.
func (f *ForwardingTimeouts) SetDefaults() {
	f.DialTimeout = Duration(30 * time.Second)
	f.IdleConnTimeout = Duration(90 * time.Second)
}

// TCPServersTransport says how endpoints of TCP services are reached.
type TCPServersTransport struct {
	DialKeepAlive    Duration      `json:"dialKeepAlive" description:"Time between TCP keep-alive probes; 0 is 15s, a negative duration sends none."`
	DialTimeout      Duration      `json:"dialTimeout" description:"Time to connect to an endpoint, with the PROXY header and the TLS handshake; 0 is no limit." range:"0.."`
	TerminationDelay Duration      `json:"terminationDelay" description:"How long one side may go on sending after the other has ended its direction; 0 closes both at once, a negative duration is no limit."`
	TLS              *TCPClientTLS `json:"tls" description:"TLS towards servers with the option tls."`
}

// SetDefaults sets 15 seconds between keep-alive probes, 30 seconds for connecting and 100 milliseconds for the second
// direction.
func (t *TCPServersTransport) SetDefaults() {
	t.DialKeepAlive = Duration(15 * time.Second)
	t.DialTimeout = Duration(30 * time.Second)
	t.TerminationDelay = Duration(100 * time.Millisecond)
}

// TCPClientTLS is TLS towards endpoints of TCP services.
type TCPClientTLS struct {
	InsecureSkipVerify bool          `json:"insecureSkipVerify" description:"Accept any certificate of an endpoint."`
	RootCAs            []string      `json:"rootCAs" description:"Certificate authorities for endpoints, as files or PEM text; none means those of the system." secret:"file"`
	Spiffe             *SpiffeClient `json:"spiffe" description:"As spiffe of serversTransport, for endpoints of TCP services."`
}

// SpiffeClient says which SPIFFE identities are accepted.
type SpiffeClient struct {
	IDs         []string `json:"ids" description:"SPIFFE IDs (spiffe://domain/path) of which an endpoint must have one."`
	TrustDomain string   `json:"trustDomain" description:"Trust domain of which every identity is accepted; it has no effect beside ids."`
}
