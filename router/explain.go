package router

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/rule"
)

// runnersUp is how many routers beside the one that answers an explanation names.
const runnersUp = 3

// Question is a request to explain.
type Question struct {
	// Method and URL are as a client would send them; Header may hold Host.
	Method string
	URL    string
	Header http.Header
	// EntryPoint is the entrypoint's name; empty means the one that the URL's port or scheme leads to.
	EntryPoint string
	// Client is the peer's address, for ClientIP; empty means 127.0.0.1.
	Client string
}

// Explanation says which router answers a request, and why.
type Explanation struct {
	Method     string `json:"method"`
	EntryPoint string `json:"entryPoint"`
	Host       string `json:"host"`
	Path       string `json:"path"`
	TLS        bool   `json:"tls"`
	// Status is the status code that Sluice itself answers with: 404 without a router, 400 for a path that is refused,
	// 503 for a disabled router or an empty pool, that of a redirection; 0 when an endpoint answers.
	Status int    `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Guess says why this entrypoint was chosen; it is empty when the question names it.
	Guess string `json:"guess,omitempty"`
	// Location is where a redirection leads to, and ForwardedPath the path that the service receives, when middlewares
	// have changed it. Middlewares that do anything but these two are taken to pass the request on.
	Location      string `json:"location,omitempty"`
	ForwardedPath string `json:"forwardedPath,omitempty"`
	// Router is the one that answers.
	Router *Candidate `json:"router,omitempty"`
	// PriorityClass is that of the router that answers: low, high or critical; empty is default.
	PriorityClass string `json:"priorityClass,omitempty"`
	// Middlewares are applied in this order.
	Middlewares []string       `json:"middlewares,omitempty"`
	Service     *ServiceStatus `json:"service,omitempty"`
	// Environments are the choices of environment services by the header of the request, from the service of the router
	// on. They end at a service of another kind, whose choice does not depend on the request alone.
	Environments []EnvironmentChoice `json:"environments,omitempty"`
	// Next are the routers that came next, and why they do not answer: those that are tried, in order, when a router
	// answers, and then the ones whose rules share most with the request.
	Next []Candidate `json:"next,omitempty"`
	// Elsewhere are routers that would answer on another entrypoint, or with TLS instead of without; it is filled when
	// no router matches here.
	Elsewhere []Elsewhere `json:"elsewhere,omitempty"`
}

// Elsewhere is a router that answers the same request when it comes in another way.
type Elsewhere struct {
	Router     string `json:"router"`
	EntryPoint string `json:"entryPoint"`
	TLS        bool   `json:"tls"`
}

// Candidate is a router that a request could have led to.
type Candidate struct {
	Name     string `json:"name"`
	Rule     string `json:"rule"`
	Priority int    `json:"priority"`
	// Matches is true for a router whose rule holds; one that came next then only has a lower place.
	Matches bool `json:"matches"`
	// Why names the matchers that decide: those that hold when the rule matches, and those that do not when it does not.
	Why []string `json:"why"`
	// Reason says in one sentence why a router that came next does not answer.
	Reason string `json:"reason,omitempty"`
}

// Explain walks the index as a request does and records what happens.
func (t *Table) Explain(question Question) (Explanation, error) {
	request, err := question.request()
	if err != nil {
		return Explanation{}, err
	}
	secure := request.URL.Scheme == "https"
	host, _ := canonical.Host(request.Host)
	entry, guess, err := t.choose(question, request.URL.Port(), host, secure)
	if err != nil {
		return Explanation{}, err
	}
	answer := Explanation{Method: request.Method, EntryPoint: entry.entrypoint.Name, TLS: secure, Guess: guess}
	request.RequestURI = request.URL.RequestURI()
	request.URL.Scheme, request.URL.Host = "", ""
	if _, err := entry.entrypoint.Policy.Normalize(request); err != nil {
		var refused *canonical.Error
		answer.Status, answer.Reason = http.StatusBadRequest, err.Error()
		if errors.As(err, &refused) {
			answer.Status = refused.Status
		}
		return answer, nil
	}
	var view rule.Request
	fill(&view, request)
	answer.Host, answer.Path = view.Host, view.Path
	entry.explain(&answer, &view, request)
	if answer.Router == nil {
		answer.Elsewhere = t.elsewhere(entry, &view, secure)
	}
	return answer, nil
}

func (q Question) request() (*http.Request, error) {
	target := q.URL
	if !strings.Contains(target, "://") {
		target = "http://" + target
	}
	request, err := http.NewRequest(q.Method, target, http.NoBody) //nolint:noctx // It is matched, never sent.
	if err != nil {
		return nil, fmt.Errorf("request to explain: %w", err)
	}
	if request.URL.Scheme != "http" && request.URL.Scheme != "https" {
		return nil, fmt.Errorf("request to explain: scheme %q is none of http, https", request.URL.Scheme)
	}
	for name, values := range q.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
		request.Header.Del("Host")
	}
	if request.URL.Scheme == "https" {
		request.TLS = &tls.ConnectionState{}
	}
	request.RemoteAddr = "127.0.0.1:0"
	if q.Client != "" {
		if !isAddress(q.Client) {
			return nil, fmt.Errorf("request to explain: client %q is not an IP address, with or without a port", q.Client)
		}
		request.RemoteAddr = q.Client
	}
	return request, nil
}

func (e *entry) explain(answer *Explanation, view *rule.Request, request *http.Request) {
	secure := answer.TLS
	routes := e.index(secure)
	var winner *index.Route[*Route]
	seen := map[string]bool{}
	routes.Walk(view, func(route *index.Route[*Route], matched bool) bool {
		seen[route.Name] = true
		if matched && winner == nil {
			winner = route
			return true
		}
		if len(answer.Next) < runnersUp {
			answer.Next = append(answer.Next, beaten(route, winner, view))
		}
		return winner == nil || len(answer.Next) < runnersUp
	})
	if winner == nil { // What the index proposes is not nearer than the rest.
		answer.Next = nil
		clear(seen)
	}
	for _, route := range nearest(routes.All(), view, seen, runnersUp-len(answer.Next)) {
		answer.Next = append(answer.Next, beaten(route, winner, view))
	}
	if winner == nil {
		answer.Status, answer.Reason = http.StatusNotFound, "no router matches"
		if routes.Len() == 0 {
			answer.Reason = fmt.Sprintf("entrypoint %q has no router for requests %s", e.entrypoint.Name, withTLS(secure))
		}
		return
	}
	chosen := candidate(winner, view)
	answer.Router = &chosen
	winner.Value.explain(answer, request)
}

func candidate(route *index.Route[*Route], view *rule.Request) Candidate {
	matched, steps := route.Rule.Explain(view)
	found := Candidate{Name: route.Name, Rule: route.Value.Rule, Priority: route.Priority, Matches: matched}
	for _, step := range steps {
		found.Why = append(found.Why, step.String())
	}
	return found
}

func (r *Route) explain(answer *Explanation, request *http.Request) {
	if r.service == nil {
		answer.Status, answer.Reason = http.StatusServiceUnavailable, "the router is disabled: "+r.fault
		return
	}
	if r.class != dynamic.PriorityDefault {
		answer.PriorityClass = r.class.String()
	}
	answer.Middlewares = r.steps
	if request = r.rewriteTarget(answer, request); answer.Status != 0 {
		return
	}
	status := r.service.status()
	answer.Service = &status
	chosen := r.service.chooseEnvironments(answer, request.Header)
	switch last := len(answer.Environments) - 1; {
	case chosen == nil:
		answer.Status, answer.Reason = http.StatusServiceUnavailable, answer.Environments[last].missing()
	case !chosen.answers():
		answer.Status, answer.Reason = http.StatusServiceUnavailable, "no endpoint can answer"
	}
}
