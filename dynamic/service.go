package dynamic

import (
	"errors"
	"fmt"
	"math"

	ptypes "github.com/traefik/paerser/types"
)

// DefaultFlushInterval is how long a buffered response body waits at most before it is flushed to the client.
const DefaultFlushInterval = ptypes.Duration(100e6)

// Service is one way to get an answer (http.services.<name>). Exactly one kind is set.
type Service struct {
	// LoadBalancer sends requests to servers.
	LoadBalancer *ServersLoadBalancer `json:"loadBalancer,omitempty"`
	// HighestRandomWeight keeps each client on one of several services.
	HighestRandomWeight *HighestRandomWeight `json:"highestRandomWeight,omitempty"`
	// Weighted splits requests over several services.
	Weighted *WeightedRoundRobin `json:"weighted,omitempty"`
	// Mirroring copies a share of the requests to further services.
	Mirroring *Mirroring `json:"mirroring,omitempty"`
	// Failover uses a second service while the first one is down.
	Failover *Failover `json:"failover,omitempty"`
	// Environment sends each request to the subset of its environment, by a tag in a header.
	Environment *Environment `json:"environment,omitempty"`
	// Canary sends a part of the requests to a second service.
	Canary *Canary `json:"canary,omitempty"`
	// DirectResponse answers by itself.
	DirectResponse *DirectResponse `json:"directResponse,omitempty" label:"allowEmpty"`
	// Middlewares are names of middlewares (name or name@provider) for all requests to this service, whichever router they
	// come from. They run after those of the router.
	Middlewares []string `json:"middlewares,omitempty"`
}

// ServersLoadBalancer balances over servers, listed here or named by an endpoint set.
type ServersLoadBalancer struct {
	// Strategy chooses the server for a request: wrr, p2c, hrw, leasttime, peakewma, leastrequest or hash.
	Strategy string `json:"strategy,omitempty"`
	// Hash is the input of the strategy hash. With any other strategy it is an error.
	Hash *HashStrategy `json:"hash,omitempty"`
	// Servers are the addresses that answer.
	Servers []Server `json:"servers,omitempty"`
	// Sticky keeps a client on the server that answered its first request.
	Sticky *Sticky `json:"sticky,omitempty" label:"allowEmpty"`
	// HealthCheck sends requests of its own to each server and takes out those that fail. Off without this section.
	HealthCheck *ServerHealthCheck `json:"healthCheck,omitempty"`
	// PassiveHealthCheck takes a server out after failures of real requests, as Traefik does. Given alone it replaces
	// OutlierDetection.
	PassiveHealthCheck *PassiveServerHealthCheck `json:"passiveHealthCheck,omitempty"`
	// OutlierDetection takes a server out after failures of real requests, for longer each time. It is on, with its
	// defaults, when neither this section nor PassiveHealthCheck is given.
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// PanicThreshold is a share of healthy servers, 0 to 100 percent. Below it, all servers get requests, also unhealthy
	// ones. 0 turns this off.
	PanicThreshold int `json:"panicThreshold,omitempty"`
	// SlowStart is the time in which the share of a server that joins or recovers grows to its full size. 0 gives it the
	// full share at once.
	SlowStart ptypes.Duration `json:"slowStart,omitempty"`
	// ZoneAware prefers (true) the endpoints in the zone of Sluice, or ignores zones (false). Default: only the hints of
	// EndpointSlices count. It has no effect when that zone is unknown or no endpoint has one.
	ZoneAware *bool `json:"zoneAware,omitempty"`
	// DrainTimeout is how long requests to a removed server may go on before their connections are closed. 0 sets no
	// limit.
	DrainTimeout ptypes.Duration `json:"drainTimeout,omitempty"`
	// Retry sends a request to another server when the first one fails and that is safe. It is on, with its defaults,
	// without this section.
	Retry *ServerRetry `json:"retry,omitempty"`
	// Limits bounds the requests in flight. Without this section there is no limit.
	Limits *ServerLimits `json:"limits,omitempty"`
	// PassHostHeader sends the client's Host header to the server. With false, the host of the server's URL is sent.
	PassHostHeader *bool `json:"passHostHeader,omitempty"`
	// ResponseForwarding controls how responses are flushed to the client.
	ResponseForwarding *ResponseForwarding `json:"responseForwarding,omitempty"`
	// ServersTransport is the name of the serversTransport that makes the connections. Default: the one of the static
	// options (default@internal).
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
	// URL is the server as scheme://host:port, with the scheme http, https or h2c (HTTP/2 without TLS). Its path is used
	// only with PreservePath. Required.
	URL string `json:"url,omitempty" label:"url" secret:"url"`
	// Weight is the share of requests relative to the other servers. 0 drains the server: it gets no new client.
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
	// FlushInterval is the longest time that part of a response waits for more. A negative value flushes after each write.
	FlushInterval ptypes.Duration `json:"flushInterval,omitempty"`
}

// SetDefaults sets FlushInterval to DefaultFlushInterval.
func (r *ResponseForwarding) SetDefaults() { r.FlushInterval = DefaultFlushInterval }

// WeightedRoundRobin splits traffic over services by weight.
type WeightedRoundRobin struct {
	// Services are the services to choose from.
	Services []WeightedService `json:"services,omitempty"`
	// Sticky keeps a client on the service that answered its first request.
	Sticky *Sticky `json:"sticky,omitempty"`
	// HealthCheck, as {}, skips services that are down. Without it they keep their share, and those requests get 503.
	HealthCheck *HealthCheck `json:"healthCheck,omitempty" label:"allowEmpty"`
}

// WeightedService is one branch of a weighted service.
type WeightedService struct {
	// Name is the name of the service, as name or name@provider. Required.
	Name string `json:"name,omitempty"`
	// Weight is the share of requests relative to the other services of the list. 0 means none.
	Weight *int `json:"weight,omitempty"`
}

// SetDefaults materialises the default weight.
func (s *WeightedService) SetDefaults() {
	one := 1
	s.Weight = &one
}

// HighestRandomWeight picks a service by rendezvous hashing of the client's address.
type HighestRandomWeight struct {
	// Services are the services to choose from.
	Services []WeightedService `json:"services,omitempty"`
	// HealthCheck, as {}, skips services that are down. Without it they keep their share, and those requests get 503.
	HealthCheck *HealthCheck `json:"healthCheck,omitempty" label:"allowEmpty"`
}

// Mirroring sends copies of a share of the requests to further services and drops their responses.
type Mirroring struct {
	// Service is the name of the service that answers. Required.
	Service string `json:"service,omitempty"`
	// MirrorBody copies request bodies too.
	MirrorBody *bool `json:"mirrorBody,omitempty"`
	// MaxBodySize is the largest request body that is mirrored, in bytes. Requests with a larger one are not mirrored. -1
	// sets no limit.
	MaxBodySize *int64 `json:"maxBodySize,omitempty"`
	// Mirrors are the services that get copies.
	Mirrors []MirrorService `json:"mirrors,omitempty"`
	// HealthCheck has no effect here.
	HealthCheck *HealthCheck `json:"healthCheck,omitempty" label:"allowEmpty"`
}

// SetDefaults mirrors bodies of any size.
func (m *Mirroring) SetDefaults() {
	body, size := true, int64(-1)
	m.MirrorBody, m.MaxBodySize = &body, &size
}

// MirrorService is one mirror with its share.
type MirrorService struct {
	// Name is the name of the service, as name or name@provider. Required.
	Name string `json:"name,omitempty"`
	// Percent is the share of requests that it gets, 0 to 100.
	Percent int `json:"percent,omitempty"`
	// Fraction is the share of requests that it gets, in place of Percent.
	Fraction *Fraction `json:"fraction,omitempty"`
}

// Share returns the share of the requests that the mirror gets: a numerator and a denominator of at least 1. An error
// names the option.
func (m *MirrorService) Share() (numerator, denominator int, err error) {
	switch {
	case m.Percent < 0 || m.Percent > 100:
		return 0, 1, fmt.Errorf("percent %d is not from 0 to 100", m.Percent)
	case m.Fraction == nil:
		return m.Percent, 100, nil
	case m.Percent != 0:
		return 0, 1, errors.New("percent and fraction are both set")
	case m.Fraction.Denominator < 1 || m.Fraction.Denominator > math.MaxInt32:
		return 0, 1, fmt.Errorf("fraction.denominator %d is not from 1 to %d", m.Fraction.Denominator, math.MaxInt32)
	case m.Fraction.Numerator < 0 || m.Fraction.Numerator > m.Fraction.Denominator:
		return 0, 1, fmt.Errorf("fraction.numerator %d is not from 0 to the denominator, %d", m.Fraction.Numerator,
			m.Fraction.Denominator)
	}
	return m.Fraction.Numerator, m.Fraction.Denominator, nil
}

// Fraction is a share of requests.
type Fraction struct {
	// Numerator is from 0 to Denominator.
	Numerator int `json:"numerator,omitempty"`
	// Denominator is at least 1, and at most 2147483647.
	Denominator int `json:"denominator,omitempty"`
}

// SetDefaults sets the denominator 100.
func (f *Fraction) SetDefaults() { f.Denominator = 100 }

// DirectResponse answers requests with a status, headers and a text. Calls of gRPC get the status code of gRPC that
// belongs to the status.
type DirectResponse struct {
	// Status is the status code, 200 to 599, except for 204, 205 and 304 together with Body.
	Status int `json:"status,omitempty"`
	// Body is the response body, which is plain text. Default: none.
	Body string `json:"body,omitempty"`
	// Headers are set on the response. Their values may have variables of nginx ($scheme, $http_host, $request_uri, ...),
	// except for those of objects, certificates and groups of patterns.
	Headers []HeaderValue `json:"headers,omitempty"`
	// TrimTrailingSlash removes one slash from the end of the header Location.
	TrimTrailingSlash bool `json:"trimTrailingSlash,omitempty"`
}

// SetDefaults sets 500.
func (d *DirectResponse) SetDefaults() { d.Status = 500 }

// Failover answers with a fallback when the service is down.
type Failover struct {
	// Service is the name of the service that normally answers. Required.
	Service string `json:"service,omitempty"`
	// Fallback is the name of the service that answers while the other one has no endpoint that may answer.
	// Required.
	Fallback string `json:"fallback,omitempty"`
	// HealthCheck has no effect here: the state of the endpoints decides.
	HealthCheck *HealthCheck `json:"healthCheck,omitempty" label:"allowEmpty"`
	// Errors uses the fallback also for responses with certain status codes.
	Errors *FailoverErrors `json:"errors,omitempty"`
}

// FailoverErrors makes a failover react to status codes.
type FailoverErrors struct {
	// Status are status codes (503), ranges (500-599) and classes (5xx). A response with one of them is discarded, and the
	// fallback answers.
	Status []string `json:"status,omitempty"`
	// MaxRequestBodyBytes is how much of a request body is kept for the fallback, in bytes. For larger bodies the response
	// of the main service is used. -1 sets no limit but the 64 MiB that all services share.
	MaxRequestBodyBytes *int64 `json:"maxRequestBodyBytes,omitempty"`
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
	// Cookie stores the choice in a cookie. {} takes the defaults.
	Cookie *Cookie `json:"cookie,omitempty" label:"allowEmpty"`
}

// Cookie is the sticky cookie.
type Cookie struct {
	// Name is the name of the cookie. Default: _ and five hexadecimal digits made from the name of the service.
	Name string `json:"name,omitempty"`
	// Secure sets the attribute Secure.
	Secure bool `json:"secure,omitempty"`
	// HTTPOnly sets the attribute HttpOnly.
	HTTPOnly bool `json:"httpOnly,omitempty"`
	// SameSite sets the attribute SameSite: none, lax or strict. Default: the attribute is not set.
	SameSite string `json:"sameSite,omitempty"`
	// MaxAge is the lifetime in seconds. 0 makes a session cookie; a negative number deletes the cookie.
	MaxAge int `json:"maxAge,omitempty"`
	// Path is the path of the cookie. Empty sets no path.
	Path *string `json:"path,omitempty"`
	// Domain is the domain of the cookie. Default: the host of the request.
	Domain string `json:"domain,omitempty"`
	// Mode is persistent, which keeps a client on its server until that is gone, or balanced, which hashes the cookie
	// over the servers, so that a server that joins gets its part of the clients. On services of services it is
	// persistent. Ours.
	Mode string `json:"mode,omitempty"`
	// SecureByScheme sets the attribute Secure in responses over TLS. Ours.
	SecureByScheme bool `json:"secureByScheme,omitempty"`
	// ConditionalSameSiteNone, with the SameSite none, leaves the attribute out for browsers that refuse cookies with
	// it. Ours.
	ConditionalSameSiteNone bool `json:"conditionalSameSiteNone,omitempty"`
	// Partitioned sets the attribute Partitioned. Ours.
	Partitioned bool `json:"partitioned,omitempty"`
	// Expires is the lifetime in seconds as the attribute Expires, beside MaxAge. 0 sets no such attribute; a negative
	// number is a time in the past. Ours.
	Expires int `json:"expires,omitempty"`
	// ChangeOnFailure has a client move to another server, with another cookie, when a request to its own has failed and
	// is tried again. With false, that try goes to the same server. On services of services it is true. Ours.
	ChangeOnFailure *bool `json:"changeOnFailure,omitempty"`
	// ReadOnly follows the cookie of clients that have it, and sets none. Ours.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// The modes of a sticky cookie.
const (
	// CookiePersistent keeps a client on its server until that is gone.
	CookiePersistent = "persistent"
	// CookieBalanced hashes the cookie over the servers.
	CookieBalanced = "balanced"
)

// SetDefaults sets the path to /, the mode persistent, and a change on failure.
func (c *Cookie) SetDefaults() {
	root, change := "/", true
	c.Path, c.Mode, c.ChangeOnFailure = &root, CookiePersistent, &change
}

// ServerHealthCheck is the active check of each server.
type ServerHealthCheck struct {
	// Scheme is that of the check: http, https or h2c. Default: that of the server.
	Scheme string `json:"scheme,omitempty"`
	// Mode is one of http, or grpc for the gRPC health checking protocol, which must answer SERVING.
	Mode string `json:"mode,omitempty"`
	// Path is the path and query of the check's request. Default: the path of the server's URL.
	Path string `json:"path,omitempty" secret:"path"`
	// Method is the method of the check's request. Default: GET.
	Method string `json:"method,omitempty"`
	// Status is the status code of a healthy server, 200 to 999. 0 means any of 200 to 399.
	Status int `json:"status,omitempty"`
	// Port is the port of the check, 1 to 65535. Default: that of the server.
	Port int `json:"port,omitempty"`
	// Interval is the time from the start of a check to the start of the next one.
	Interval ptypes.Duration `json:"interval,omitempty"`
	// UnhealthyInterval is the same for a server that is down. Default: the same as interval.
	UnhealthyInterval *ptypes.Duration `json:"unhealthyInterval,omitempty"`
	// Timeout is how long one check may take.
	Timeout ptypes.Duration `json:"timeout,omitempty"`
	// Hostname is the Host header of the check, with or without a port. Default: the host of the server's URL.
	Hostname string `json:"hostname,omitempty"`
	// FollowRedirects follows redirects to the same server. With false, and for redirects to elsewhere, the status code of
	// the redirect decides.
	FollowRedirects *bool `json:"followRedirects,omitempty"`
	// Headers are further headers of the check's request.
	Headers map[string]string `json:"headers,omitempty" secret:"true"`
	// Rise is how many successful checks in a row bring a server back; at least 1. The first check decides alone.
	Rise *int `json:"rise,omitempty"`
	// Fall is how many failed checks in a row take a server out; at least 1. The first check decides alone.
	Fall *int `json:"fall,omitempty"`
	// Jitter is by how much an interval is longer or shorter at random, 0 to 100 percent of it.
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
	// FailureWindow is the time in which failures are counted, and for which a server is taken out; above 0.
	FailureWindow ptypes.Duration `json:"failureWindow,omitempty"`
	// MaxFailedAttempts is how many failures take a server out; at least 1. Responses from 500 on are failures.
	MaxFailedAttempts int `json:"maxFailedAttempts,omitempty"`
}

// SetDefaults sets a window of 10 s and one attempt.
func (p *PassiveServerHealthCheck) SetDefaults() {
	p.FailureWindow = ptypes.Duration(10e9)
	p.MaxFailedAttempts = 1
}
