// Package ipdenylist implements the middleware ipDenyList, which refuses clients with certain addresses with 403. A
// client of unknown address is refused.
package ipdenylist

import (
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/source"
)

// IPDenyList is one configured ipDenyList.
type IPDenyList struct {
	name    string
	denied  *source.List
	refused atomic.Uint64
}

// New checks the definition: sourceRange must name at least one address or prefix. The error names the option.
func New(name string, config dynamic.IPDenyList) (*IPDenyList, error) {
	if len(config.SourceRange) == 0 {
		return nil, errors.New("ipDenyList.sourceRange is empty: no client would be refused")
	}
	denied, err := source.NewList("ipDenyList", config.SourceRange, config.IPStrategy)
	if err != nil {
		return nil, err
	}
	return &IPDenyList{name: name, denied: denied}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*IPDenyList) NoRetain() {}

// Warnings returns options without the apparent effect.
func (l *IPDenyList) Warnings() []string { return l.denied.Warnings("refuses") }

// Counts returns the number of refused requests over all routers.
func (l *IPDenyList) Counts() map[string]uint64 {
	return map[string]uint64{"refused": l.refused.Load()}
}

// Wrap returns a handler that calls next for clients that are not in the list.
func (l *IPDenyList) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client, listed, known := l.denied.Find(r)
		if known && !listed {
			next.ServeHTTP(w, r)
			return
		}
		l.refused.Add(1)
		reason := "the address of the client is unknown"
		if known {
			reason = "the client " + client.String() + " is in sourceRange"
		}
		answer.Refuse(w, r, http.StatusForbidden, l.name, reason)
	})
}
