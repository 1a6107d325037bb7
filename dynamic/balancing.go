package dynamic

import ptypes "github.com/traefik/paerser/types"

// The strategies of a load balancer. The first four are Traefik v3's.
const (
	// StrategyWRR takes turns by weight.
	StrategyWRR = "wrr"
	// StrategyP2C takes the less busy one of two that are drawn by weight.
	StrategyP2C = "p2c"
	// StrategyHRW keeps a client on one server by rendezvous hashing of its address.
	StrategyHRW = "hrw"
	// StrategyLeastTime takes the server with the lowest mean latency, times the requests it is busy with.
	StrategyLeastTime = "leasttime"
	// StrategyPeakEWMA takes the better one of two by latency, with failures scored as slow, times the requests in flight.
	StrategyPeakEWMA = "peakewma"
	// StrategyLeastRequest takes the server with the fewest requests in flight for its weight.
	StrategyLeastRequest = "leastrequest"
	// StrategyHash keeps a key of the request on one server by consistent hashing with bounded load.
	StrategyHash = "hash"
)

// The sources of the key of StrategyHash.
const (
	HashClientIP = "clientIP"
	HashHeader   = "header"
	HashCookie   = "cookie"
	HashQuery    = "query"
	HashPath     = "path"
	// HashExpression is a text with variables of nginx.
	HashExpression = "expression"
)

// HashStrategy is the input of StrategyHash.
type HashStrategy struct {
	// Source is the part of the request that is hashed: clientIP, header, cookie, query, path or expression.
	Source string `json:"source,omitempty"`
	// Name is the name of the header, the cookie or the query parameter. The other sources have none.
	Name string `json:"name,omitempty"`
	// Expression is the text with variables of nginx ($remote_addr, $request_uri, ...) that the source expression hashes,
	// also when it comes out empty. Ours.
	Expression string `json:"expression,omitempty"`
	// SubsetSize keeps a key on a subset of that many servers, of which each request gets one at random. The servers are
	// divided into subsets by their order; the last one is filled up with the first servers. 0 keeps a key on one server.
	// Ours.
	SubsetSize int `json:"subsetSize,omitempty"`
	// BoundedLoad is how many requests a server may have in flight before the next one takes over, in percent of its
	// share; at least 100. 0 sets no bound.
	BoundedLoad *int `json:"boundedLoad,omitempty"`
}

// SetDefaults hashes the client's address and bounds the load to 125 %.
func (h *HashStrategy) SetDefaults() {
	h.Source, h.BoundedLoad = HashClientIP, pointerTo(125)
}

// OutlierDetection takes a server out after failures of real requests, for longer each time. Failures to connect and
// connections that break always count.
type OutlierDetection struct {
	// ConsecutiveFailures is how many failures in a row take a server out. 0 turns the detection off.
	ConsecutiveFailures *int `json:"consecutiveFailures,omitempty"`
	// Status are status codes (503), ranges (500-599) and classes (5xx) that count as failures too. Default: none.
	Status []string `json:"status,omitempty"`
	// BaseEjectionTime is how long the first ejection lasts. Each further one lasts twice as long.
	BaseEjectionTime ptypes.Duration `json:"baseEjectionTime,omitempty"`
	// MaxEjectionTime is how long an ejection lasts at most.
	MaxEjectionTime ptypes.Duration `json:"maxEjectionTime,omitempty"`
	// MaxEjectedPercent is the share of the servers that may be out at once, 0 to 100 percent. The last server is never
	// taken out.
	MaxEjectedPercent *int `json:"maxEjectedPercent,omitempty"`
}

// SetDefaults sets 5 failures, 2 s to 60 s, and half of the pool.
func (o *OutlierDetection) SetDefaults() {
	o.ConsecutiveFailures, o.MaxEjectedPercent = pointerTo(5), pointerTo(50)
	o.BaseEjectionTime, o.MaxEjectionTime = ptypes.Duration(2e9), ptypes.Duration(60e9)
}

// ServerRetry tries a request on another server when that is safe: nothing of it was sent, or its method is idempotent
// and no answer has begun.
type ServerRetry struct {
	// Attempts is the number of further tries after the first, 0 to 100. 0 turns retries off.
	Attempts *int `json:"attempts,omitempty"`
	// PerTryTimeout is how long one try may take until its response begins. 0 sets no limit.
	PerTryTimeout ptypes.Duration `json:"perTryTimeout,omitempty"`
	// Status are status codes (503), ranges (500-599) and classes (5xx) that cause another try. Default: none.
	Status []string `json:"status,omitempty"`
	// RetryNonIdempotentMethod retries requests of every method, also POST, even when part of them was sent.
	RetryNonIdempotentMethod bool `json:"retryNonIdempotentMethod,omitempty"`
	// MaxRequestBodyBytes is how much of a request body is kept for a further try, in bytes. A request is not retried when
	// more of its body was read. -1 sets no limit.
	MaxRequestBodyBytes *int64 `json:"maxRequestBodyBytes,omitempty"`
	// BudgetPercent is the number of retries of all requests to this service, in percent of its successful requests, 0 to
	// 1000. -1 sets no limit.
	BudgetPercent *int `json:"budgetPercent,omitempty"`
	// InitialInterval is the least wait before another try, at most 1 h. The wait is up to twice as long at random, and
	// grows to twice that at the last try. 0 does not wait.
	InitialInterval ptypes.Duration `json:"initialInterval,omitempty"`
	// SameServer goes back to servers that have been tried when there is no other one, so that a request is tried as often
	// as Attempts says.
	SameServer bool `json:"sameServer,omitempty"`
	// Timeout is how long after the first try another one may begin. 0 sets no limit. Ours.
	Timeout ptypes.Duration `json:"timeout,omitempty"`
	// RetryOn are the failures that cause another try beside Status, as those of proxy_next_upstream of nginx: error (no
	// connection, or one that broke off before the response), timeout (a time-out before the response) and invalid-header
	// (a response that is no HTTP). Default: all of them. It excludes DisableRetryOnNetworkError. Ours.
	RetryOn []string `json:"retryOn,omitempty"`
	// DisableRetryOnNetworkError does not retry where there was no connection, or no response; what Status lists is
	// retried.
	DisableRetryOnNetworkError bool `json:"disableRetryOnNetworkError,omitempty"`
}

// The failures of ServerRetry.RetryOn.
const (
	// RetryOnError is no connection, or one that broke off before the response.
	RetryOnError = "error"
	// RetryOnTimeout is a time-out before the response.
	RetryOnTimeout = "timeout"
	// RetryOnInvalidHeader is a response that is no HTTP.
	RetryOnInvalidHeader = "invalid-header"
)

// SetDefaults sets 2 further tries, 64 KiB and 20 %.
func (r *ServerRetry) SetDefaults() {
	r.Attempts, r.BudgetPercent = pointerTo(2), pointerTo(20)
	r.MaxRequestBodyBytes = pointerTo[int64](64 << 10)
}

// ServerLimits bounds what a pool has in flight. Whatever is beyond the limits is answered with 503 at once.
type ServerLimits struct {
	// MaxConnections is the maximum number of requests in flight at one server. 0 sets no limit.
	MaxConnections int `json:"maxConnections,omitempty"`
	// MaxPoolConnections is the maximum number of requests in flight at all servers together. 0 sets no limit.
	MaxPoolConnections int `json:"maxPoolConnections,omitempty"`
	// MaxPending is the maximum number of requests that wait while a limit is reached; others get 503 at once.
	MaxPending int `json:"maxPending,omitempty"`
	// PendingTimeout is how long a request waits at most.
	PendingTimeout ptypes.Duration `json:"pendingTimeout,omitempty"`
}

// SetDefaults sets a wait of 5 s.
func (l *ServerLimits) SetDefaults() { l.PendingTimeout = ptypes.Duration(5e9) }

// pointerTo returns a pointer to a value of its own.
func pointerTo[T any](value T) *T { return &value }
