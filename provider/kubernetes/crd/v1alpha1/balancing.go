package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Balancing holds the options of a load balancer that only the group sluice.dev has. Their names and values are those
// of files.
type Balancing struct {
	// Hash says what the strategy hash hashes.
	// +optional
	Hash *HashStrategy `json:"hash,omitempty"`
	// OutlierDetection takes an endpoint out after failures of real requests, for longer each time. Without it and
	// passiveHealthCheck, its defaults are in force.
	// +optional
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// PanicThreshold is the share of pickable endpoints, in percent, below which verdicts are ignored; default 0, never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	PanicThreshold int `json:"panicThreshold,omitempty"`
	// SlowStart is the time over which the share of an endpoint that joins or recovers grows to its full size, as a
	// duration or in seconds; default 0, all of it at once.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	SlowStart *intstr.IntOrString `json:"slowStart,omitempty"`
	// ZoneAware prefers the endpoints of the zone that Sluice runs in; false ignores zones. By default only the hints of
	// EndpointSlices count.
	// +optional
	ZoneAware *bool `json:"zoneAware,omitempty"`
	// DrainTimeout is how long requests to a removed endpoint may go on, as a duration or in seconds; default 0, until
	// they end by themselves.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	DrainTimeout *intstr.IntOrString `json:"drainTimeout,omitempty"`
	// Retry says when a request is tried on another endpoint. Without it, its defaults are in force.
	// +optional
	Retry *ServerRetry `json:"retry,omitempty"`
	// Limits bounds what is in flight; without it there is no limit.
	// +optional
	Limits *ServerLimits `json:"limits,omitempty"`
}

// HashStrategy says what the strategy hash hashes.
type HashStrategy struct {
	// Source is clientIP (the default), header, cookie, query, path or expression.
	// +optional
	// +kubebuilder:validation:Enum=clientIP;header;cookie;query;path;expression
	Source string `json:"source,omitempty"`
	// Name names the header, the cookie or the query parameter.
	// +optional
	Name string `json:"name,omitempty"`
	// Expression is the text with variables of nginx that the source expression hashes.
	// +optional
	Expression string `json:"expression,omitempty"`
	// SubsetSize keeps a key on a subset of that many endpoints; default 0, on one endpoint.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SubsetSize int `json:"subsetSize,omitempty"`
	// BoundedLoad is how much of its share of the load an endpoint may carry before the next one takes over, in percent,
	// 100 at least; default 125, and 0 sets no bound.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BoundedLoad *int `json:"boundedLoad,omitempty"`
}

// OutlierDetection takes an endpoint out after failures of real requests. Failures to connect and connections that
// break always count.
type OutlierDetection struct {
	// ConsecutiveFailures is how many failures in a row take an endpoint out; default 5, and 0 turns the detection off.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ConsecutiveFailures *int `json:"consecutiveFailures,omitempty"`
	// Status lists status codes, ranges (500-599) and classes (5xx) that count as failures too; by default none.
	// +optional
	// +kubebuilder:validation:items:Pattern=`^([1-5][0-9]{2}(-[1-5][0-9]{2})?|[1-5][xX]{2})(, ?([1-5][0-9]{2}(-[1-5][0-9]{2})?|[1-5][xX]{2}))*$`
	Status []string `json:"status,omitempty"`
	// BaseEjectionTime is how long the first ejection lasts, as a duration or in seconds; each further one doubles it.
	// Default 2s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	BaseEjectionTime *intstr.IntOrString `json:"baseEjectionTime,omitempty"`
	// MaxEjectionTime is how long an ejection lasts at most, as a duration or in seconds; default 60s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	MaxEjectionTime *intstr.IntOrString `json:"maxEjectionTime,omitempty"`
	// MaxEjectedPercent is the share of the endpoints that may be out at once, in percent; default 50. The last one is
	// never taken out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxEjectedPercent *int `json:"maxEjectedPercent,omitempty"`
}

// ServerRetry tries a request on another endpoint when that is safe: nothing of it was sent, or its method is
// idempotent and no answer has begun.
type ServerRetry struct {
	// Attempts is how many further tries there are; default 2, and 0 turns retries off.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Attempts *int `json:"attempts,omitempty"`
	// PerTryTimeout is how long one try may take until its answer begins, as a duration or in seconds; default 0, no
	// limit.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	PerTryTimeout *intstr.IntOrString `json:"perTryTimeout,omitempty"`
	// Status lists status codes, ranges (500-599) and classes (5xx) that are worth another try; by default none.
	// +optional
	// +kubebuilder:validation:items:Pattern=`^([1-5][0-9]{2}(-[1-5][0-9]{2})?|[1-5][xX]{2})(, ?([1-5][0-9]{2}(-[1-5][0-9]{2})?|[1-5][xX]{2}))*$`
	Status []string `json:"status,omitempty"`
	// RetryNonIdempotentMethod retries requests of any method, even when something of them was sent.
	// +optional
	RetryNonIdempotentMethod bool `json:"retryNonIdempotentMethod,omitempty"`
	// MaxRequestBodyBytes is how much of a body is kept for a further try; default 65536, and -1 sets no limit.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxRequestBodyBytes *int64 `json:"maxRequestBodyBytes,omitempty"`
	// BudgetPercent is how many retries may come on top of the requests that end well, in percent of these; default 20,
	// and -1 sets no limit.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=1000
	BudgetPercent *int `json:"budgetPercent,omitempty"`
	// InitialInterval is the least wait before another try, as a duration or in seconds; default 0.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	InitialInterval *intstr.IntOrString `json:"initialInterval,omitempty"`
	// SameServer goes back to endpoints that have been tried when there is no other one.
	// +optional
	SameServer bool `json:"sameServer,omitempty"`
	// Timeout is how long after the first try another one may begin, as a duration or in seconds; default 0, any time.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Timeout *intstr.IntOrString `json:"timeout,omitempty"`
	// RetryOn lists the failures that are worth another try beside Status; by default all of them.
	// +optional
	// +kubebuilder:validation:items:Enum=error;timeout;invalid-header
	RetryOn []string `json:"retryOn,omitempty"`
	// DisableRetryOnNetworkError retries for what Status lists alone.
	// +optional
	DisableRetryOnNetworkError bool `json:"disableRetryOnNetworkError,omitempty"`
}

// ServerLimits bounds what is in flight. Whatever is beyond the limits is answered with 503 at once.
type ServerLimits struct {
	// MaxConnections is how many requests one endpoint has in flight at most; default 0, no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxConnections int `json:"maxConnections,omitempty"`
	// MaxPoolConnections is how many requests all endpoints together have in flight at most; default 0, no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPoolConnections int `json:"maxPoolConnections,omitempty"`
	// MaxPending is how many requests wait at most while a limit is reached; default 0, none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPending int `json:"maxPending,omitempty"`
	// PendingTimeout is how long a request waits at most, as a duration or in seconds; default 5s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	PendingTimeout *intstr.IntOrString `json:"pendingTimeout,omitempty"`
}
