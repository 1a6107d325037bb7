package dynamic

import ptypes "github.com/traefik/paerser/types"

// DefaultFlushInterval is how long a buffered response body waits at most before it is flushed to the client.
const DefaultFlushInterval = ptypes.Duration(100e6)

// Service is one way to get an answer (http.services.<name>). Exactly one kind is set.
type Service struct {
	LoadBalancer        *ServersLoadBalancer `json:"loadBalancer,omitempty"`
	HighestRandomWeight *HighestRandomWeight `json:"highestRandomWeight,omitempty"`
	Weighted            *WeightedRoundRobin  `json:"weighted,omitempty"`
	Mirroring           *Mirroring           `json:"mirroring,omitempty"`
	Failover            *Failover            `json:"failover,omitempty"`
	Middlewares         []string             `json:"middlewares,omitempty"`
}

// ServersLoadBalancer balances over servers, listed here or named by an endpoint set.
type ServersLoadBalancer struct {
	// Strategy is wrr (default), p2c, hrw, leasttime, peakewma, leastrequest or hash.
	Strategy string `json:"strategy,omitempty"`
	// Hash says what the strategy hash hashes; no other strategy has it.
	Hash *HashStrategy `json:"hash,omitempty"`
	// Servers are listed inline by files and labels.
	Servers []Server `json:"servers,omitempty"`
	Sticky  *Sticky  `json:"sticky,omitempty" label:"allowEmpty"`
	// HealthCheck is the active check.
	HealthCheck *ServerHealthCheck `json:"healthCheck,omitempty"`
	// PassiveHealthCheck is Traefik's way to take a server out after failures of real requests.
	PassiveHealthCheck *PassiveServerHealthCheck `json:"passiveHealthCheck,omitempty"`
	// OutlierDetection is ours; where neither of the two is given, its defaults are in force.
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// PanicThreshold is the share of pickable servers, in percent, below which verdicts are ignored and all servers take
	// requests; 0 (default) never ignores them.
	PanicThreshold int `json:"panicThreshold,omitempty"`
	// SlowStart is the time over which the share of a server that joins or recovers grows to its full size; 0 (default)
	// gives it all of it at once.
	SlowStart ptypes.Duration `json:"slowStart,omitempty"`
	// ZoneAware prefers the servers of the zone that Sluice runs in; false ignores zones. nil means that only the hints of
	// EndpointSlices count. Where that zone is not known, or no server has one, it changes nothing.
	ZoneAware *bool `json:"zoneAware,omitempty"`
	// DrainTimeout is how long requests to a removed server may go on; 0 (default) lets them end by themselves.
	DrainTimeout ptypes.Duration `json:"drainTimeout,omitempty"`
	// Retry says when a request is tried on another server; nil means the defaults of ServerRetry.
	Retry *ServerRetry `json:"retry,omitempty"`
	// Limits bounds what is in flight; nil sets no limits.
	Limits *ServerLimits `json:"limits,omitempty"`
	// PassHostHeader forwards the client's Host header; nil means true.
	PassHostHeader     *bool               `json:"passHostHeader,omitempty"`
	ResponseForwarding *ResponseForwarding `json:"responseForwarding,omitempty"`
	// ServersTransport names the transport; empty means the static serversTransport (default@internal).
	ServersTransport string `json:"serversTransport,omitempty"`

	// EndpointSet names the set of the endpoint lane that lists the servers (source/namespace/service:port). It is set
	// by providers that watch endpoints, instead of Servers, and is no key of files or labels.
	EndpointSet string `json:"-" label:"-"`
	// Scheme is the scheme to speak to the endpoints of EndpointSet: http, https or h2c.
	Scheme string `json:"-" label:"-"`
}

// SetDefaults materialises the defaults, so that an absent option and its default compare as equal.
func (l *ServersLoadBalancer) SetDefaults() {
	pass := true
	l.Strategy = StrategyWRR
	l.PassHostHeader = &pass
	l.ResponseForwarding = &ResponseForwarding{FlushInterval: DefaultFlushInterval}
}

// Server is one server of a load balancer.
type Server struct {
	// URL is scheme://host:port with scheme http, https or h2c; its path counts only with PreservePath.
	URL string `json:"url,omitempty" label:"url" secret:"url"`
	// Weight is the share of requests relative to the other servers; nil means 1, 0 means none.
	Weight *int `json:"weight,omitempty"`
	// PreservePath puts the path of URL before the path of the request.
	PreservePath bool `json:"preservePath,omitempty"`
}

// SetDefaults materialises the default weight.
func (s *Server) SetDefaults() {
	one := 1
	s.Weight = &one
}

// ResponseForwarding says how a response travels to the client.
type ResponseForwarding struct {
	// FlushInterval is the longest wait before a flush; negative flushes after each write. Default 100 ms.
	FlushInterval ptypes.Duration `json:"flushInterval,omitempty"`
}

// SetDefaults sets FlushInterval to DefaultFlushInterval.
func (r *ResponseForwarding) SetDefaults() { r.FlushInterval = DefaultFlushInterval }

// WeightedRoundRobin splits traffic over services by weight.
type WeightedRoundRobin struct {
	Services    []WeightedService `json:"services,omitempty"`
	Sticky      *Sticky           `json:"sticky,omitempty"`
	HealthCheck *HealthCheck      `json:"healthCheck,omitempty" label:"allowEmpty"`
}

// WeightedService is one branch of a weighted service.
type WeightedService struct {
	Name string `json:"name,omitempty"`
	// Weight is the share relative to the other branches; nil means 1, 0 means none.
	Weight *int `json:"weight,omitempty"`
}

// SetDefaults materialises the default weight.
func (s *WeightedService) SetDefaults() {
	one := 1
	s.Weight = &one
}

// HighestRandomWeight picks a service by rendezvous hashing of the client's address.
type HighestRandomWeight struct {
	Services    []WeightedService `json:"services,omitempty"`
	HealthCheck *HealthCheck      `json:"healthCheck,omitempty" label:"allowEmpty"`
}

// Mirroring sends a share of the requests to further services, whose answers are dropped.
type Mirroring struct {
	Service     string          `json:"service,omitempty"`
	MirrorBody  *bool           `json:"mirrorBody,omitempty"`
	MaxBodySize *int64          `json:"maxBodySize,omitempty"`
	Mirrors     []MirrorService `json:"mirrors,omitempty"`
	HealthCheck *HealthCheck    `json:"healthCheck,omitempty" label:"allowEmpty"`
}

// SetDefaults mirrors bodies of any size.
func (m *Mirroring) SetDefaults() {
	body, size := true, int64(-1)
	m.MirrorBody, m.MaxBodySize = &body, &size
}

// MirrorService is one mirror with its share in percent.
type MirrorService struct {
	Name    string `json:"name,omitempty"`
	Percent int    `json:"percent,omitempty"`
}

// Failover answers with a fallback when the service is down.
type Failover struct {
	Service     string          `json:"service,omitempty"`
	Fallback    string          `json:"fallback,omitempty"`
	HealthCheck *HealthCheck    `json:"healthCheck,omitempty" label:"allowEmpty"`
	Errors      *FailoverErrors `json:"errors,omitempty"`
}

// FailoverErrors makes a failover react to status codes.
type FailoverErrors struct {
	// Status lists status codes, ranges (500-599) and classes (5xx) that the fallback replaces.
	Status              []string `json:"status,omitempty"`
	MaxRequestBodyBytes *int64   `json:"maxRequestBodyBytes,omitempty"`
}

// SetDefaults keeps request bodies of any size.
func (f *FailoverErrors) SetDefaults() {
	size := int64(-1)
	f.MaxRequestBodyBytes = &size
}

// HealthCheck on a weighted or highestRandomWeight service passes over children that are down. Health goes upward from
// every service by itself, so that it changes nothing on a mirroring or failover service.
type HealthCheck struct{}

// Sticky keeps a client on the server that answered first.
type Sticky struct {
	Cookie *Cookie `json:"cookie,omitempty" label:"allowEmpty"`
}

// Cookie is the sticky cookie.
type Cookie struct {
	Name     string  `json:"name,omitempty"`
	Secure   bool    `json:"secure,omitempty"`
	HTTPOnly bool    `json:"httpOnly,omitempty"`
	SameSite string  `json:"sameSite,omitempty"`
	MaxAge   int     `json:"maxAge,omitempty"`
	Path     *string `json:"path,omitempty"`
	Domain   string  `json:"domain,omitempty"`
}

// SetDefaults sets the path to /.
func (c *Cookie) SetDefaults() {
	root := "/"
	c.Path = &root
}

// ServerHealthCheck is the active check of each server.
type ServerHealthCheck struct {
	Scheme            string            `json:"scheme,omitempty"`
	Mode              string            `json:"mode,omitempty"`
	Path              string            `json:"path,omitempty" secret:"path"`
	Method            string            `json:"method,omitempty"`
	Status            int               `json:"status,omitempty"`
	Port              int               `json:"port,omitempty"`
	Interval          ptypes.Duration   `json:"interval,omitempty"`
	UnhealthyInterval *ptypes.Duration  `json:"unhealthyInterval,omitempty"`
	Timeout           ptypes.Duration   `json:"timeout,omitempty"`
	Hostname          string            `json:"hostname,omitempty"`
	FollowRedirects   *bool             `json:"followRedirects,omitempty"`
	Headers           map[string]string `json:"headers,omitempty" secret:"true"`
	// Rise and Fall are how many answers of the same kind in a row change the verdict; nil means 1. The first one decides
	// alone.
	Rise *int `json:"rise,omitempty"`
	Fall *int `json:"fall,omitempty"`
	// Jitter is by how much an interval is longer or shorter at random, 0 to 100 percent of it; nil means 10.
	Jitter *int `json:"jitter,omitempty"`
}

// SetDefaults sets mode http, an interval of 30 s with a jitter of 10 %, a time-out of 5 s, and verdicts by one answer.
func (h *ServerHealthCheck) SetDefaults() {
	follow := true
	h.Mode = "http"
	h.Interval = ptypes.Duration(30e9)
	h.Timeout = ptypes.Duration(5e9)
	h.FollowRedirects = &follow
	h.Rise, h.Fall, h.Jitter = pointerTo(1), pointerTo(1), pointerTo(10)
}

// PassiveServerHealthCheck takes a server out after failures of real requests.
type PassiveServerHealthCheck struct {
	FailureWindow     ptypes.Duration `json:"failureWindow,omitempty"`
	MaxFailedAttempts int             `json:"maxFailedAttempts,omitempty"`
}

// SetDefaults sets a window of 10 s and one attempt.
func (p *PassiveServerHealthCheck) SetDefaults() {
	p.FailureWindow = ptypes.Duration(10e9)
	p.MaxFailedAttempts = 1
}
