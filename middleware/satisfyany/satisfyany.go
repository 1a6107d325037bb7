// Package satisfyany implements the middleware satisfyAny: one of several middlewares is enough to let a request in, as
// with "satisfy any" of nginx.
//
// Its members decide in their order. The first that lets the request in has the service answer. Without one, 401 is
// answered if a member did so, else 403; any other status of a member is answered at once. A member that only refuses,
// such as ipDenyList, lets nothing in: the others decide about what it does not refuse.
package satisfyany

import (
	"errors"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/middleware/guard"
)

// Step is a middleware.
type Step interface {
	// Wrap returns a handler that calls next, unless it answers the request itself.
	Wrap(next http.Handler) http.Handler
}

// Member is a middleware, or a chain of them of which all must let a request pass. Without steps, it refuses.
type Member struct {
	// Steps are the middlewares, outermost first.
	Steps []Step
	// Admits says that a request which they let pass is let in, and not just not refused.
	Admits bool
}

// SatisfyAny is one configured satisfyAny.
type SatisfyAny struct {
	name    string
	members []Member
	access  guard.Access
	refused atomic.Uint64
}

// New returns the middleware with its members, of which there must be at least one.
func New(name string, members []Member) (*SatisfyAny, error) {
	if len(members) == 0 {
		return nil, errors.New("satisfyAny.middlewares is empty: nothing would let a request in")
	}
	return &SatisfyAny{name: name, members: members, access: accessOf(name, members)}, nil
}

// NoRetain implements httpio.NoRetainer. Members may not retain a part of a request either.
func (*SatisfyAny) NoRetain() {}

// Guards returns the trust levels at which all members restrict access.
func (s *SatisfyAny) Guards() guard.Access { return s.access }

// Counts returns the number of requests that no member has let in.
func (s *SatisfyAny) Counts() map[string]uint64 {
	return map[string]uint64{"refused": s.refused.Load()}
}

// scoped is a step with state for each owner.
type scoped interface {
	For(owner string) interface {
		Wrap(next http.Handler) http.Handler
	}
}

// replacer is a step that never takes some headers from the client of a request that it lets pass.
type replacer interface {
	// Replaces returns their names.
	Replaces() []string
}

// For returns the step with the state that the members have for an owner.
func (s *SatisfyAny) For(owner string) interface {
	Wrap(next http.Handler) http.Handler
} {
	resolved := &step{any: s, members: slices.Clone(s.members), own: make([][]string, len(s.members))}
	for i := range resolved.members {
		member := &resolved.members[i]
		member.Steps = slices.Clone(member.Steps)
		for at, one := range member.Steps {
			if replacing, ok := one.(replacer); ok {
				resolved.own[i] = append(resolved.own[i], replacing.Replaces()...)
			}
			if keeps, ok := one.(scoped); ok {
				member.Steps[at] = keeps.For(owner)
			}
		}
	}
	return resolved
}

// Wrap is For without an owner.
func (s *SatisfyAny) Wrap(next http.Handler) http.Handler { return s.For("").Wrap(next) }
