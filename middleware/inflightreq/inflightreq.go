// Package inflightreq is the middleware inFlightReq: it limits how many requests of one source are under way at a time.
//
// What flows in: a request. What flows out: the same request through the same writer, or an answer 429. A request counts until its
// handler has returned, however that ends, so an upgraded connection counts as long as it lives. It never makes a request wait.
package inflightreq

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/source"
)

// InFlightReq is one configured inFlightReq.
type InFlightReq struct {
	name   string
	amount int64
	source *source.Source
	seed   maphash.Seed
	// shared is the step of all owners, or nil where each has its own.
	shared  *step
	refused atomic.Uint64
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
	m := &InFlightReq{name: name, amount: config.Amount, source: criterion, seed: maphash.MakeSeed()}
	if config.Shared {
		m.shared = &step{limit: m}
	}
	return m, nil
}

// KeepsNothing says that no part of a request outlives its handler here.
func (*InFlightReq) KeepsNothing() {}

// For returns the step that counts the owner's requests, or everybody's where the definition is shared.
func (m *InFlightReq) For(string) interface {
	Wrap(next http.Handler) http.Handler
} {
	if m.shared != nil {
		return m.shared
	}
	return &step{limit: m}
}

// Wrap is For without an owner.
func (m *InFlightReq) Wrap(next http.Handler) http.Handler { return m.For("").Wrap(next) }

// Counts returns how many requests have been refused over all owners.
func (m *InFlightReq) Counts() map[string]uint64 {
	return map[string]uint64{"refused": m.refused.Load()}
}

// step is an inFlightReq with the counts of one owner.
type step struct {
	limit    *InFlightReq
	requests lazy
}

// KeepsNothing says that no part of a request outlives its handler here.
func (*step) KeepsNothing() {}

// Standing returns how many requests are under way, and of how many sources.
func (s *step) Standing() (state string, levels map[string]int64) {
	var requests, sources int64
	if t := s.requests.Load(); t != nil {
		requests, sources = t.levels()
	}
	return "", map[string]int64{"in_flight": requests, "sources": sources}
}

// Wrap returns a handler that calls next unless too many requests of the source are under way.
func (s *step) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, _ := s.limit.source.Key(r) // Those that don't say who they are share the zero key.
		hash := key.Hash(s.limit.seed)
		shard := s.requests.shard(hash)
		if !shard.enter(hash, s.limit.amount) {
			s.limit.refused.Add(1)
			answer.Refuse(w, r, http.StatusTooManyRequests, s.limit.name, "too many requests of the source are under way")
			return
		}
		defer shard.leave(hash)
		next.ServeHTTP(w, r)
	})
}
