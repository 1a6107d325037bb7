package live

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/api"
)

// EndpointQuery selects endpoints.
type EndpointQuery struct {
	// Search is a part of the address, source, uid or a service's name, case-insensitive; empty selects all.
	Search string
	// Status is serving, draining, unhealthy or ejected, in one of the endpoint's pools; empty selects all.
	Status string
	// Protocol is that of Service: http, which empty means too, tcp or udp. Service is the qualified name of a service;
	// empty selects all.
	Protocol, Service string
}

// Endpoint is the state of one endpoint.
type Endpoint struct {
	// Address is host:port.
	Address string `json:"address"`
	// Source is the provider of the endpoint, or empty if the configuration lists its address.
	Source string `json:"source"`
	// UID is the incarnation, if the source has one.
	UID string `json:"uid,omitempty"`
	// InFlight counts the requests in flight over all pools.
	InFlight int `json:"inFlight"`
	// ConnectFailures counts failed connects since the endpoint last answered.
	ConnectFailures int `json:"connectFailures"`
	// Pools is the state in each service, sorted by service.
	Pools []EndpointPool `json:"pools"`
	// Upstreams lists the ways in which the endpoint is reached.
	Upstreams []EndpointUpstream `json:"upstreams"`
}

// EndpointPool is the state of an endpoint in the pool of one service.
type EndpointPool struct {
	// Protocol is http, tcp or udp, and Service the qualified name.
	Protocol string `json:"protocol"`
	Service  string `json:"service"`
	// State is serving, draining, unhealthy or ejected.
	State string `json:"state"`
	// Reason explains why it is not serving; empty if it is.
	Reason string `json:"reason"`
	// BackSeconds is the time until an ejection ends; 0 otherwise.
	BackSeconds float64 `json:"backSeconds,omitempty"`
	// Share is the endpoint's share of the pool's new requests, from 0 to 1.
	Share float64 `json:"share"`
	// LatencySeconds is the time to the response head as measured by the pool's strategy; 0 if unknown or unused.
	LatencySeconds float64 `json:"latencySeconds"`
	// SlowStart is the factor of the slow start, from 0.1 to 1.
	SlowStart float64 `json:"slowStart"`
	// Sticky is the value of the sticky cookie.
	Sticky string `json:"sticky,omitempty"`
	// Requests counts the requests sent to the endpoint since it joined the pool, attempts of retries included, and
	// Errors those of them that got a 5xx status or no complete response.
	Requests uint64 `json:"requests"`
	Errors   uint64 `json:"errors"`
	// Timed counts the requests that were answered at the first attempt, and Seconds is the sum of their durations.
	Timed   uint64  `json:"timed"`
	Seconds float64 `json:"seconds"`
}

// EndpointUpstream is one way to reach an endpoint.
type EndpointUpstream struct {
	// Scheme is http, https or h2c, and tcp, tls or udp for other pools than those of HTTP.
	Scheme string `json:"scheme"`
	// Host is the TLS server name; empty without TLS.
	Host string `json:"host"`
	// IdleConnections counts the idle connections.
	IdleConnections int `json:"idleConnections"`
}

func (l *Live) endpoints(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		l.refuse(w, http.StatusBadRequest, "query: "+err.Error())
		return
	}
	// An empty result for a misspelt status would look like a pool without problems.
	status := query.Get("status")
	if states := []string{"serving", "draining", "unhealthy", "ejected"}; status != "" && !slices.Contains(states,
		status) {
		l.refuse(w, http.StatusBadRequest, fmt.Sprintf("query: status %q is none of %s", status, strings.Join(states, ", ")))
		return
	}
	protocol := query.Get("protocol")
	if protocols := []string{"http", "tcp", "udp"}; protocol != "" && !slices.Contains(protocols, protocol) {
		l.refuse(w, http.StatusBadRequest, fmt.Sprintf("query: protocol %q is none of %s", protocol,
			strings.Join(protocols, ", ")))
		return
	}
	selected := l.options.Endpoints.Endpoints(EndpointQuery{
		Search:  query.Get("search"),
		Status:  status,
		Service: query.Get("serviceName"), Protocol: protocol,
	})
	page, err := api.Paged(w.Header(), query, selected)
	if err != nil {
		l.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	list := make([]Endpoint, 0, len(page))
	for _, look := range page {
		list = append(list, look())
	}
	l.write(w, http.StatusOK, list)
}
