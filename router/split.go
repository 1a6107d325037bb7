package router

import (
	"net/http"

	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// split hands each request to one of several services, smoothly by weight.
type split struct {
	name     string
	robin    *loadbalancer.RoundRobin
	handlers []http.Handler
}

func newSplit(name string, children []branch) *split {
	s := &split{name: name}
	weights := make([]int, 0, len(children))
	for _, child := range children {
		weights = append(weights, child.weight)
		s.handlers = append(s.handlers, child.node.handler)
	}
	s.robin = loadbalancer.NewRoundRobin(weights)
	return s
}

// ServeHTTP hands the request to the next service; with all weights at 0 it answers 503.
func (s *split) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	next := s.robin.Next()
	if next < 0 {
		record := telemetry.RecordFrom(r.Context())
		record.Service, record.Reason = s.name, "all branches of the weighted service have weight 0"
		unavailable(w)
		return
	}
	s.handlers[next].ServeHTTP(w, r)
}

// unavailable answers 503 without saying why: reasons go to the log, never to a client.
func unavailable(w http.ResponseWriter) {
	http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
}
