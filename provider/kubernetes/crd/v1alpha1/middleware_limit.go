package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// RateLimit limits requests in time, for each source.
type RateLimit struct {
	// Average is how many requests a period may have; 0 means any number.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Average *int64 `json:"average,omitempty"`
	// Period is the time that Average is about, as a duration or in seconds; default 1s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Period *intstr.IntOrString `json:"period,omitempty"`
	// Burst is how many requests may come at once; default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Burst *int64 `json:"burst,omitempty"`
	// SourceCriterion says by what requests are grouped; by default the client's address.
	// +optional
	SourceCriterion *SourceCriterion `json:"sourceCriterion,omitempty"`
	// Redis keeps the counts in Redis, so that several routers share them.
	// +optional
	Redis *Redis `json:"redis,omitempty"`
	// Shared has all routers count together; by default each counts alone, unless redis is set.
	// +optional
	Shared bool `json:"shared,omitempty"`
	// StatusCode is that of the answer to other requests; default 429.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=599
	StatusCode int `json:"statusCode,omitempty"`
	// ExcludedSourceRange lists the addresses and networks of clients that are not limited.
	// +optional
	ExcludedSourceRange []string `json:"excludedSourceRange,omitempty"`
	// NoDelay refuses requests that would wait a short time for their turn.
	// +optional
	NoDelay bool `json:"noDelay,omitempty"`
}

// Redis is where a rate limit is kept when several routers share it.
type Redis struct {
	// Endpoints lists host:port; default localhost:6379.
	// +optional
	Endpoints []string `json:"endpoints,omitempty"`
	// TLS is TLS towards Redis.
	// +optional
	TLS *ClientTLS `json:"tls,omitempty"`
	// Secret names the Secret with the keys username and password.
	// +optional
	Secret string `json:"secret,omitempty" reference:"Secret"`
	// DB is the number of the database.
	// +optional
	DB int `json:"db,omitempty"`
	// PoolSize is how many connections are kept at first.
	// +optional
	PoolSize int `json:"poolSize,omitempty"`
	// MinIdleConns is how many connections are kept idle.
	// +optional
	MinIdleConns int `json:"minIdleConns,omitempty"`
	// MaxActiveConns is how many connections there may be; 0 means any number.
	// +optional
	MaxActiveConns int `json:"maxActiveConns,omitempty"`
	// ReadTimeout is how long an answer may take, as a duration or in seconds; default 3s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	ReadTimeout *intstr.IntOrString `json:"readTimeout,omitempty"`
	// WriteTimeout is how long a request may take to send; default 3s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	WriteTimeout *intstr.IntOrString `json:"writeTimeout,omitempty"`
	// DialTimeout is how long a connection may take to open; default 5s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	DialTimeout *intstr.IntOrString `json:"dialTimeout,omitempty"`
}

// SourceCriterion says by what requests are grouped; exactly one is set.
type SourceCriterion struct {
	// IPStrategy groups by the client's address.
	// +optional
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty"`
	// RequestHeaderName groups by the value of this header.
	// +optional
	RequestHeaderName string `json:"requestHeaderName,omitempty"`
	// RequestHost groups by the host.
	// +optional
	RequestHost bool `json:"requestHost,omitempty"`
}

// InFlightReq limits requests that are under way at a time, for each source.
type InFlightReq struct {
	// Amount is how many requests there may be.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Amount int64 `json:"amount,omitempty"`
	// SourceCriterion says by what requests are grouped; by default the host.
	// +optional
	SourceCriterion *SourceCriterion `json:"sourceCriterion,omitempty"`
	// Shared has all routers count together; by default each counts alone.
	// +optional
	Shared bool `json:"shared,omitempty"`
	// StatusCode is that of the answer to other requests; default 429.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=599
	StatusCode int `json:"statusCode,omitempty"`
	// ExcludedSourceRange lists the addresses and networks of clients that are not limited.
	// +optional
	ExcludedSourceRange []string `json:"excludedSourceRange,omitempty"`
}

// CircuitBreaker stops traffic to a service that fails.
type CircuitBreaker struct {
	// Expression says when the service counts as failing.
	// +optional
	Expression string `json:"expression,omitempty"`
	// CheckPeriod is the time between two looks at Expression, as a duration or in seconds; default 100ms.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	CheckPeriod *intstr.IntOrString `json:"checkPeriod,omitempty"`
	// FallbackDuration is how long the service then gets no requests; default 10s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	FallbackDuration *intstr.IntOrString `json:"fallbackDuration,omitempty"`
	// RecoveryDuration is how long it then takes until it gets all of them again; default 10s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	RecoveryDuration *intstr.IntOrString `json:"recoveryDuration,omitempty"`
	// ResponseCode is the status code for refused requests; default 503.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=599
	ResponseCode *int `json:"responseCode,omitempty"`
	// Shared has all routers trip together; by default each trips alone.
	// +optional
	Shared bool `json:"shared,omitempty"`
}

// Timeout bounds how long the requests of a route may take. At least one limit is set.
type Timeout struct {
	// Request bounds the whole exchange, as a duration or in seconds; default 0, any time.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Request *intstr.IntOrString `json:"request,omitempty"`
	// ResponseHeader bounds the time until the response begins; default 0, any time.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	ResponseHeader *intstr.IntOrString `json:"responseHeader,omitempty"`
	// Idle bounds each pause in which no byte of a body moves; default 0, any time.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Idle *intstr.IntOrString `json:"idle,omitempty"`
}

// Retry tries again when a server could not answer.
type Retry struct {
	// Attempts is how often a request is tried.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempts int `json:"attempts,omitempty"`
	// InitialInterval is the wait before the second attempt, which then grows; default 0.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	InitialInterval *intstr.IntOrString `json:"initialInterval,omitempty"`
	// Timeout is how long all attempts together may take; default 0, any time.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Timeout *intstr.IntOrString `json:"timeout,omitempty"`
	// MaxRequestBodyBytes is the size in bytes of the largest body that is kept for another attempt; default 2097152.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxRequestBodyBytes *int64 `json:"maxRequestBodyBytes,omitempty"`
	// Status lists status codes and ranges of them that are failures.
	// +optional
	// +kubebuilder:validation:items:Pattern=`^[1-5][0-9]{2}([,-][1-5][0-9]{2})*$`
	Status []string `json:"status,omitempty"`
	// DisableRetryOnNetworkError does not try again when a server could not be reached.
	// +optional
	DisableRetryOnNetworkError bool `json:"disableRetryOnNetworkError,omitempty"`
	// RetryNonIdempotentMethod tries requests again that may change something, such as POST.
	// +optional
	RetryNonIdempotentMethod bool `json:"retryNonIdempotentMethod,omitempty"`
}

// Fault injects faults into a part of the requests, in the order of delay, reset and abort; each is drawn by itself.
type Fault struct {
	// Headers are the headers that a request has if faults are injected into it; an empty value stands for any. Default:
	// all requests.
	// +optional
	Headers map[string]string `json:"headers,omitempty"`
	// Delay holds requests back.
	// +optional
	Delay *FaultDelay `json:"delay,omitempty"`
	// Abort answers requests in place of the service.
	// +optional
	Abort *FaultAbort `json:"abort,omitempty"`
	// Reset ends requests without a response, or within one.
	// +optional
	Reset *FaultReset `json:"reset,omitempty"`
	// MaxActive is the largest number of requests that are held back at a time; default 0, any number.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxActive int `json:"maxActive,omitempty"`
}

// FaultDelay holds requests back.
type FaultDelay struct {
	// Duration is how long a request is held back, as a duration or in seconds; required.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Duration *intstr.IntOrString `json:"duration,omitempty"`
	// Percentage is the part of the requests, in steps of 0.0001; default 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percentage *float64 `json:"percentage,omitempty"`
}

// FaultAbort answers requests in place of the service.
type FaultAbort struct {
	// Status is the status code of the answer; default 503.
	// +optional
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	Status *int `json:"status,omitempty"`
	// GRPCStatus is the status code of gRPC that calls of gRPC get in place of Status; default none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16
	GRPCStatus *int `json:"grpcStatus,omitempty"`
	// Percentage is the part of the requests, in steps of 0.0001; default 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percentage *float64 `json:"percentage,omitempty"`
}

// FaultReset ends requests without a response, or within one.
type FaultReset struct {
	// Percentage is the part of the requests, in steps of 0.0001; default 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percentage *float64 `json:"percentage,omitempty"`
	// AfterHead sends the head of a response with status 200 before.
	// +optional
	AfterHead bool `json:"afterHead,omitempty"`
}

// AdaptiveConcurrency limits the requests in progress to a number that it finds by their latency.
type AdaptiveConcurrency struct {
	// Min is the least limit, with which it begins; default 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Min *int `json:"min,omitempty"`
	// Max is the largest limit; default 1000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Max *int `json:"max,omitempty"`
	// Tolerance is by which factor the latency may exceed that of a service without load; default 1.5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Tolerance *float64 `json:"tolerance,omitempty"`
	// QueueTimeout is how long a request waits while the limit is reached, as a duration or in seconds; with 0 none waits;
	// default 1s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	QueueTimeout *intstr.IntOrString `json:"queueTimeout,omitempty"`
	// Shared has all that list the middleware share one limit; by default each has its own.
	// +optional
	Shared bool `json:"shared,omitempty"`
}
