package dynamic

import ptypes "github.com/traefik/paerser/types"

// BodyLimit refuses requests with a larger body, and reads no body ahead of the service. Ours.
type BodyLimit struct {
	// MaxRequestBodyBytes is the largest body that passes, in bytes; it must be at least 1.
	MaxRequestBodyBytes int64 `json:"maxRequestBodyBytes,omitempty"`
}

// Timeout bounds how long the requests of a route may take. A limit of 0 is none; at least one is set. Ours.
type Timeout struct {
	// Request bounds the whole exchange, from the head of the request to the last byte of the response.
	Request ptypes.Duration `json:"request,omitempty"`
	// ResponseHeader bounds the time until the response begins, without the time that the client takes to send its body.
	ResponseHeader ptypes.Duration `json:"responseHeader,omitempty"`
	// Idle bounds each pause in which no byte of a body moves in either direction. Where ResponseHeader is set, that one
	// bounds the wait for the response. Of the limits it is the only one that counts once a connection is upgraded.
	Idle ptypes.Duration `json:"idle,omitempty"`
}

// Fault injects faults into a part of the requests, to test what clients make of them: a delay, a reset and an answer
// in place of the service's, in this order. Each is drawn by itself. Ours.
type Fault struct {
	// Headers are the headers that a request has, all of them with these values, if faults are injected into it. An empty
	// value stands for any value. Default: faults are injected into all requests.
	Headers map[string]string `json:"headers,omitempty" secret:"true"`
	// Delay holds requests back.
	Delay *FaultDelay `json:"delay,omitempty"`
	// Abort answers requests in place of the service.
	Abort *FaultAbort `json:"abort,omitempty" label:"allowEmpty"`
	// Reset ends requests without a response, or within one.
	Reset *FaultReset `json:"reset,omitempty" label:"allowEmpty"`
	// MaxActive is the largest number of requests that are held back at a time; others are not delayed. Default: 0, any
	// number.
	MaxActive int `json:"maxActive,omitempty"`
}

// AdaptiveConcurrency limits the requests in progress to a number that it finds by their latency. Ours.
type AdaptiveConcurrency struct {
	// Min is the least limit, with which it begins, from 1 to Max. Default: 5.
	Min int `json:"min,omitempty"`
	// Max is the largest limit, from Min to 1,000,000. Default: 1000.
	Max int `json:"max,omitempty"`
	// Tolerance is by which factor the latency may exceed that of a service without load until the limit is lowered, 1 to
	// 10. Default: 1.5.
	Tolerance float64 `json:"tolerance,omitempty"`
	// QueueTimeout is how long a request waits while the limit is reached; with 0 none waits. Default: 1 s.
	QueueTimeout ptypes.Duration `json:"queueTimeout,omitempty"`
	// Shared has all routers and services that list the middleware share one limit; by default each has its own.
	Shared bool `json:"shared,omitempty"`
}

// SetDefaults sets a limit from 5 to 1000, a tolerance of 1.5 and a wait of 1 s.
func (a *AdaptiveConcurrency) SetDefaults() {
	a.Min, a.Max, a.Tolerance, a.QueueTimeout = 5, 1000, 1.5, ptypes.Duration(1e9)
}

// FaultDelay is the delay of a [Fault].
type FaultDelay struct {
	// Duration is how long a request is held back, more than 0. Required.
	Duration ptypes.Duration `json:"duration,omitempty"`
	// Percentage is the part of the requests, 0 to 100 in steps of 0.0001.
	Percentage float64 `json:"percentage"`
}

// SetDefaults sets 100 %.
func (d *FaultDelay) SetDefaults() { d.Percentage = 100 }

// FaultAbort is the answer of a [Fault].
type FaultAbort struct {
	// Status is the status code of the answer, 200 to 599.
	Status int `json:"status,omitempty"`
	// GRPCStatus is the status code of gRPC, 0 to 16, that calls of gRPC get in place of Status. Default: none, calls get
	// Status.
	GRPCStatus *int `json:"grpcStatus,omitempty"`
	// Percentage is the part of the requests, 0 to 100 in steps of 0.0001.
	Percentage float64 `json:"percentage"`
}

// SetDefaults sets 503 and 100 %.
func (a *FaultAbort) SetDefaults() { a.Status, a.Percentage = 503, 100 }

// FaultReset is the reset of a [Fault].
type FaultReset struct {
	// Percentage is the part of the requests, 0 to 100 in steps of 0.0001.
	Percentage float64 `json:"percentage"`
	// AfterHead sends the head of a response with status 200 before.
	AfterHead bool `json:"afterHead,omitempty"`
}

// SetDefaults sets 100 %.
func (r *FaultReset) SetDefaults() { r.Percentage = 100 }

// Buffering reads bodies whole before they travel on.
type Buffering struct {
	MaxRequestBodyBytes  int64  `json:"maxRequestBodyBytes,omitempty"`
	MemRequestBodyBytes  int64  `json:"memRequestBodyBytes,omitempty"`
	MaxResponseBodyBytes int64  `json:"maxResponseBodyBytes,omitempty"`
	MemResponseBodyBytes int64  `json:"memResponseBodyBytes,omitempty"`
	RetryExpression      string `json:"retryExpression,omitempty"`
	// RequestOnly sends responses as they come, as proxy_request_buffering of nginx does. It excludes
	// maxResponseBodyBytes, memResponseBodyBytes and retryExpression. Ours.
	RequestOnly bool `json:"requestOnly,omitempty"`
}

// CircuitBreaker stops traffic to a service that fails.
type CircuitBreaker struct {
	Expression       string          `json:"expression,omitempty"`
	CheckPeriod      ptypes.Duration `json:"checkPeriod,omitempty"`
	FallbackDuration ptypes.Duration `json:"fallbackDuration,omitempty"`
	RecoveryDuration ptypes.Duration `json:"recoveryDuration,omitempty"`
	ResponseCode     int             `json:"responseCode,omitempty"`
	// Shared has all routers trip together; by default each router, and each service, that lists the middleware trips
	// alone. Ours.
	Shared bool `json:"shared,omitempty"`
}

// SetDefaults sets 100 ms, 10 s, 10 s and 503.
func (c *CircuitBreaker) SetDefaults() {
	c.CheckPeriod = ptypes.Duration(100e6)
	c.FallbackDuration = ptypes.Duration(10e9)
	c.RecoveryDuration = ptypes.Duration(10e9)
	c.ResponseCode = 503
}

// Compress compresses responses.
type Compress struct {
	ExcludedContentTypes []string `json:"excludedContentTypes,omitempty"`
	IncludedContentTypes []string `json:"includedContentTypes,omitempty"`
	MinResponseBodyBytes int      `json:"minResponseBodyBytes,omitempty"`
	Encodings            []string `json:"encodings,omitempty"`
	DefaultEncoding      string   `json:"defaultEncoding,omitempty"`
}

// SetDefaults sets the encodings.
func (c *Compress) SetDefaults() { c.Encodings = []string{"gzip", "br", "zstd"} }

// ContentType controls the detection of content types.
type ContentType struct {
	AutoDetect *bool `json:"autoDetect,omitempty"`
}

// EncodedCharacters allows or refuses reserved characters that arrive encoded in a path.
type EncodedCharacters struct {
	AllowEncodedSlash         bool `json:"allowEncodedSlash,omitempty"`
	AllowEncodedBackSlash     bool `json:"allowEncodedBackSlash,omitempty"`
	AllowEncodedNullCharacter bool `json:"allowEncodedNullCharacter,omitempty"`
	AllowEncodedSemicolon     bool `json:"allowEncodedSemicolon,omitempty"`
	AllowEncodedPercent       bool `json:"allowEncodedPercent,omitempty"`
	AllowEncodedQuestionMark  bool `json:"allowEncodedQuestionMark,omitempty"`
	AllowEncodedHash          bool `json:"allowEncodedHash,omitempty"`
}

// ErrorPage lets another service answer for some status codes.
type ErrorPage struct {
	Status              []string       `json:"status,omitempty"`
	StatusRewrites      map[string]int `json:"statusRewrites,omitempty"`
	Service             string         `json:"service,omitempty"`
	Query               string         `json:"query,omitempty" secret:"path"`
	ErrorRequestHeaders []string       `json:"errorRequestHeaders,omitempty"`
	// RequestHeaders are further headers of the request to the service, whatever errorRequestHeaders lists. A value is a
	// text with variables of nginx ($request_uri, $http_NAME, ...) and the placeholders {status} and {originalStatus} of
	// query; a header whose value comes out empty is not sent. Ours.
	RequestHeaders []HeaderValue `json:"requestHeaders,omitempty"`
	// PageStatus has the client get the status of the page. It excludes statusRewrites. Default: the status of the answer
	// that is replaced, or what statusRewrites makes of it. Ours.
	PageStatus bool `json:"pageStatus,omitempty"`
	// OriginalRequest sends the request for the page with the method, the query (unless that of the option query), the
	// conditions and the body of the original one. Default: GET without them. Ours.
	OriginalRequest bool `json:"originalRequest,omitempty"`
	// MaxRequestBodyBytes is the length of the longest body that originalRequest keeps, in memory; a request with a longer
	// one, or of unknown length that has not been read to its end, has a page without a body. Default: 1 MiB. Ours.
	MaxRequestBodyBytes int64 `json:"maxRequestBodyBytes,omitempty"`
	// OwnErrors replaces only answers that no endpoint has given: refusals of middlewares, and failures to reach an
	// endpoint. Default: all. Ours.
	OwnErrors bool `json:"ownErrors,omitempty"`
	// ErrorResponseHeaders are the names of headers of the replaced answer that the client gets unless the page has them.
	// Default: none. Ours.
	ErrorResponseHeaders []string `json:"errorResponseHeaders,omitempty"`
}

// GrpcWeb translates gRPC-Web.
type GrpcWeb struct {
	AllowOrigins []string `json:"allowOrigins,omitempty"`
}

// InFlightReq limits requests that are under way at a time.
type InFlightReq struct {
	Amount          int64            `json:"amount,omitempty"`
	SourceCriterion *SourceCriterion `json:"sourceCriterion,omitempty"`
	// Shared has all routers count together; by default each router, and each service, that lists the middleware counts
	// alone. Ours.
	Shared bool `json:"shared,omitempty"`
	// StatusCode is that of the answer to other requests, 400 to 599. Default: 429. Ours.
	StatusCode int `json:"statusCode,omitempty"`
	// ExcludedSourceRange are addresses and CIDR prefixes of clients that are not limited; the address is that of the
	// connection, or of SourceCriterion.IPStrategy. Ours.
	ExcludedSourceRange []string `json:"excludedSourceRange,omitempty"`
}

// RateLimit limits requests in time.
type RateLimit struct {
	Average         int64            `json:"average,omitempty"`
	Period          ptypes.Duration  `json:"period,omitempty"`
	Burst           int64            `json:"burst,omitempty"`
	SourceCriterion *SourceCriterion `json:"sourceCriterion,omitempty"`
	Redis           *Redis           `json:"redis,omitempty"`
	// Shared has all routers count together; by default each router, and each service, that lists the middleware counts
	// alone. With redis they always count together, in all processes. Ours.
	Shared bool `json:"shared,omitempty"`
	// StatusCode is that of the answer to other requests, 400 to 599. Default: 429. Ours.
	StatusCode int `json:"statusCode,omitempty"`
	// ExcludedSourceRange are addresses and CIDR prefixes of clients that are not limited; the address is that of the
	// connection, or of SourceCriterion.IPStrategy. Ours.
	ExcludedSourceRange []string `json:"excludedSourceRange,omitempty"`
	// NoDelay refuses requests that would wait a short time for their turn. Ours.
	NoDelay bool `json:"noDelay,omitempty"`
}

// SetDefaults sets a burst of 1 and a period of 1 s.
func (r *RateLimit) SetDefaults() {
	r.Burst = 1
	r.Period = ptypes.Duration(1e9)
}

// Redis is where a rate limit is kept when several routers share it.
type Redis struct {
	Endpoints      []string         `json:"endpoints,omitempty" secret:"url"`
	TLS            *ClientTLS       `json:"tls,omitempty"`
	Username       string           `json:"username,omitempty" secret:"true"`
	Password       string           `json:"password,omitempty" secret:"true"`
	DB             int              `json:"db,omitempty"`
	PoolSize       int              `json:"poolSize,omitempty"`
	MinIdleConns   int              `json:"minIdleConns,omitempty"`
	MaxActiveConns int              `json:"maxActiveConns,omitempty"`
	ReadTimeout    *ptypes.Duration `json:"readTimeout,omitempty"`
	WriteTimeout   *ptypes.Duration `json:"writeTimeout,omitempty"`
	DialTimeout    *ptypes.Duration `json:"dialTimeout,omitempty"`
}

// Retry tries again when a server could not answer.
type Retry struct {
	Attempts                   int             `json:"attempts,omitempty"`
	InitialInterval            ptypes.Duration `json:"initialInterval,omitempty"`
	Timeout                    ptypes.Duration `json:"timeout,omitempty"`
	MaxRequestBodyBytes        *int64          `json:"maxRequestBodyBytes,omitempty"`
	Status                     []string        `json:"status,omitempty"`
	DisableRetryOnNetworkError bool            `json:"disableRetryOnNetworkError,omitempty"`
	RetryNonIdempotentMethod   bool            `json:"retryNonIdempotentMethod,omitempty"`
}

// SourceCriterion says by what requests are grouped; exactly one is set.
type SourceCriterion struct {
	IPStrategy        *IPStrategy `json:"ipStrategy,omitempty" label:"allowEmpty"`
	RequestHeaderName string      `json:"requestHeaderName,omitempty"`
	RequestHost       bool        `json:"requestHost,omitempty"`
}

// IPStrategy says which address is the client's.
type IPStrategy struct {
	Depth       int      `json:"depth,omitempty"`
	ExcludedIPs []string `json:"excludedIPs,omitempty"`
	IPv6Subnet  *int     `json:"ipv6Subnet,omitempty"`
	// TrustedIPs are the addresses and CIDR prefixes of proxies. If the peer is one of them, the client is the first
	// address of X-Forwarded-For from the right that is none, or the leftmost one, as with real_ip_recursive of nginx;
	// otherwise it is the peer. Neither Depth nor ExcludedIPs may be set beside it. Ours.
	TrustedIPs []string `json:"trustedIPs,omitempty"`
}
