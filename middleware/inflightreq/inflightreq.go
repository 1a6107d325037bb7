// Package inflightreq is the middleware inFlightReq: it limits how many requests of one source are under way at a time.
//
// What flows in: a request. What flows out: the same request through the same writer, or an answer 429. A request
// counts until its handler has returned, however that ends, so an upgraded connection counts as long as it lives. It
// never makes a request wait.
package inflightreq

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/vulcand/oxy/v2/connlimit"
	"github.com/vulcand/oxy/v2/utils"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/source"
)

// InFlightReq is one configured inFlightReq.
type InFlightReq struct {
	name   string
	amount int64
	source *source.Source
	// shared is the step of all owners, or nil where each has its own.
	shared   *step
	refused  atomic.Uint64
	passages sync.Pool
}

// New checks the definition: amount must be at least 1. The error names the option.
func New(name string, config dynamic.InFlightReq) (*InFlightReq, error) {
	if config.Amount < 1 {
		return nil, fmt.Errorf("inFlightReq.amount is %d, and must be at least 1: nothing would pass", config.Amount)
	}
	criterion, err := source.New("inFlightReq.sourceCriterion", config.SourceCriterion, source.RequestHost)
	if err != nil {
		return nil, err
	}
	m := &InFlightReq{
		name: name, amount: config.Amount, source: criterion, passages: sync.Pool{New: func() any { return new(passage) }},
	}
	if config.Shared {
		m.shared = m.step()
	}
	return m, nil
}

// step returns a step with counts of its own.
func (m *InFlightReq) step() *step {
	s := &step{limit: m}
	// It fails without an extractor alone.
	s.counter, _ = connlimit.New(http.HandlerFunc(s.pass), utils.ExtractorFunc(s.token), m.amount,
		connlimit.ErrorHandler(s))
	return s
}

// NoRetain says that no part of a request outlives its handler here.
func (*InFlightReq) NoRetain() {}

// For returns the step that counts the owner's requests, or those of all owners where the definition is shared.
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

// Counts returns how many requests have been refused over all owners.
func (m *InFlightReq) Counts() map[string]uint64 {
	return map[string]uint64{"refused": m.refused.Load()}
}
