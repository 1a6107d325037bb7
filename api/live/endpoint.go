package live

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/api"
)

// EndpointQuery says which endpoints are asked for.
type EndpointQuery struct {
	// Search is a part of the address, of the source, of the uid, or of a service's name, in whatever case; empty selects
	// all.
	Search string
	// Status is serving, draining, unhealthy or ejected: how the endpoint stands in one of its pools; empty selects all.
	Status string
	// Service is the qualified name of a service; empty selects all.
	Service string
}

// Endpoint is how one endpoint stands, as JSON.
type Endpoint struct {
	// Address is host:port.
	Address string `json:"address"`
	// Source is who knows of it: the name of a provider of endpoints, or empty where the configuration lists its address.
	Source string `json:"source"`
	// UID is the incarnation, where the source has one.
	UID string `json:"uid,omitempty"`
	// InFlight counts the requests that have begun and are not done, over all pools.
	InFlight int `json:"inFlight"`
	// ConnectFailures counts the connects that failed since the endpoint last answered.
	ConnectFailures int `json:"connectFailures"`
	// Pools says how it stands in each service, in order of their names.
	Pools []EndpointPool `json:"pools"`
	// Upstreams says in which ways it is spoken to.
	Upstreams []EndpointUpstream `json:"upstreams"`
}

// EndpointPool is an endpoint's place in the pool of one service, as JSON.
type EndpointPool struct {
	// Service is the qualified name.
	Service string `json:"service"`
	// State is serving, draining, unhealthy or ejected.
	State string `json:"state"`
	// Reason says why it is not serving, and is empty where it is.
	Reason string `json:"reason"`
	// BackSeconds is when an ejected endpoint gets requests again, from now; 0 otherwise.
	BackSeconds float64 `json:"backSeconds,omitempty"`
	// Share is the part of the pool's new requests that the endpoint is due, from 0 to 1.
	Share float64 `json:"share"`
	// LatencySeconds is how long it takes to the head of a response, as the strategy of the pool sees it; 0 where it does
	// not go by that, or nothing is known.
	LatencySeconds float64 `json:"latencySeconds"`
	// SlowStart is the part of its share that the endpoint gets by now, from 0.1 to 1 (the whole).
	SlowStart float64 `json:"slowStart"`
	// Sticky is the value of the cookie that keeps clients with the endpoint.
	Sticky string `json:"sticky,omitempty"`
}

// EndpointUpstream is one way to speak to an endpoint, as JSON.
type EndpointUpstream struct {
	// Scheme is http, https or h2c.
	Scheme string `json:"scheme"`
	// Host is the name that TLS asks for; empty where it does not.
	Host string `json:"host"`
	// IdleConnections counts the connections that are kept and that no request uses.
	IdleConnections int `json:"idleConnections"`
}

func (l *Live) endpoints(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		l.refuse(w, http.StatusBadRequest, "query: "+err.Error())
		return
	}
	// A word that is misspelt would look like a pool in which nothing is wrong.
	status := query.Get("status")
	if states := []string{"serving", "draining", "unhealthy", "ejected"}; status != "" && !slices.Contains(states,
		status) {
		l.refuse(w, http.StatusBadRequest, fmt.Sprintf("query: status %q is none of %s", status, strings.Join(states, ", ")))
		return
	}
	selected := l.options.Endpoints.Endpoints(EndpointQuery{
		Search:  query.Get("search"),
		Status:  status,
		Service: query.Get("serviceName"),
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
