// Package inflightreq implements the middleware inFlightReq, which limits the concurrent requests of one source and
// answers others with 429 or another status. A request counts until its handler has returned, an upgraded connection
// until it is closed. Requests do not wait.
package inflightreq

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/vulcand/oxy/v2/connlimit"
	"github.com/vulcand/oxy/v2/utils"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/source"
)

// InFlightReq is one configured inFlightReq.
type InFlightReq struct {
	name   string
	amount int64
	source *source.Source
	// excluded are the clients that are not limited, and status is that of refusals.
	excluded source.Excluded
	status   int
	// shared is the step of all owners, or nil if each has its own.
	shared  *step
	refused atomic.Uint64
	states  sync.Pool
}

// New validates the definition: amount must be at least 1, and statusCode, by default 429, 400 to 599. The error names
// the option.
func New(name string, config dynamic.InFlightReq) (*InFlightReq, error) {
	if config.Amount < 1 {
		return nil, fmt.Errorf("inFlightReq.amount is %d, and must be at least 1: nothing would pass", config.Amount)
	}
	criterion, err := source.New("inFlightReq.sourceCriterion", config.SourceCriterion, source.RequestHost)
	if err != nil {
		return nil, err
	}
	m := &InFlightReq{
		name: name, amount: config.Amount, source: criterion, states: sync.Pool{New: func() any { return new(requestState) }},
	}
	m.excluded, err = source.NewExcluded("inFlightReq", config.ExcludedSourceRange, config.SourceCriterion)
	if err != nil {
		return nil, err
	}
	if m.status, err = answer.RefusalStatus("inFlightReq.statusCode", config.StatusCode); err != nil {
		return nil, err
	}
	if config.Shared {
		m.shared = m.step()
	}
	return m, nil
}

// step returns a step with its own counts.
func (m *InFlightReq) step() *step {
	s := &step{limit: m}
	// The only error is a missing extractor.
	s.counter, _ = connlimit.New(http.HandlerFunc(s.pass), utils.ExtractorFunc(s.token), m.amount,
		connlimit.ErrorHandler(s))
	return s
}

// NoRetain implements httpio.NoRetainer.
func (*InFlightReq) NoRetain() {}

// For returns the step that counts the owner's requests, or those of all owners if the definition is shared.
func (m *InFlightReq) For(string) interface {
	Wrap(next http.Handler) http.Handler
} {
	if m.shared != nil {
		return m.shared
	}
	return m.step()
}

// Wrap is For without an owner.
func (m *InFlightReq) Wrap(next http.Handler) http.Handler { return m.For("").Wrap(next) }

// Counts returns the number of refused requests over all owners.
func (m *InFlightReq) Counts() map[string]uint64 {
	return map[string]uint64{"refused": m.refused.Load()}
}
