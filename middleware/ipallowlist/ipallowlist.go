// Package ipallowlist implements the middleware ipAllowList, and ipWhiteList, its deprecated name, which answers
// clients of other addresses with rejectStatusCode. A client of unknown address is refused.
package ipallowlist

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/guard"
	"github.com/sluiceproxy/sluice/middleware/source"
)

// IPAllowList is one configured ipAllowList or ipWhiteList.
type IPAllowList struct {
	name     string
	allowed  *source.List
	status   int
	access   guard.Access
	warnings []string
	refused  atomic.Uint64
}

// New checks the definition of an ipAllowList: sourceRange must name at least one address or prefix, and
// rejectStatusCode, by default 403, must be a final status, 200 to 599. The error names the option.
func New(name string, config dynamic.IPAllowList) (*IPAllowList, error) {
	list, err := newList(name, "ipAllowList", config.SourceRange, config.IPStrategy)
	if err != nil {
		return nil, err
	}
	if status := config.RejectStatusCode; status != 0 {
		if status < 200 || status > 599 {
			return nil, fmt.Errorf("ipAllowList.rejectStatusCode %d is not a status that ends a request, 200 to 599", status)
		}
		list.status = status
	}
	return list, nil
}

// NewWhiteList is New for the deprecated name, which refuses with 403 and warns.
func NewWhiteList(name string, config dynamic.IPWhiteList) (*IPAllowList, error) {
	list, err := newList(name, "ipWhiteList", config.SourceRange, config.IPStrategy)
	if err != nil {
		return nil, err
	}
	list.warnings = append([]string{"ipWhiteList is deprecated: ipAllowList takes the same options"}, list.warnings...)
	return list, nil
}

func newList(name, kind string, sources []string, strategy *dynamic.IPStrategy) (*IPAllowList, error) {
	if len(sources) == 0 {
		return nil, errors.New(kind + ".sourceRange is empty: no client would be allowed")
	}
	allowed, err := source.NewList(kind, sources, strategy)
	if err != nil {
		return nil, err
	}
	return &IPAllowList{
		name: name, allowed: allowed, status: http.StatusForbidden,
		access: access(kind+" "+name, sources, strategy), warnings: allowed.Warnings("allows"),
	}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*IPAllowList) NoRetain() {}

// Guards returns the trust levels at which clients cannot forge their address.
func (l *IPAllowList) Guards() guard.Access { return l.access }

// Warnings returns options without the apparent effect.
func (l *IPAllowList) Warnings() []string { return l.warnings }

// Counts returns the number of refused requests over all routers.
func (l *IPAllowList) Counts() map[string]uint64 {
	return map[string]uint64{"refused": l.refused.Load()}
}

// Wrap returns a handler that calls next for clients in the list.
func (l *IPAllowList) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client, listed, known := l.allowed.Find(r)
		if listed {
			next.ServeHTTP(w, r)
			return
		}
		l.refused.Add(1)
		reason := "the address of the client is unknown"
		if known {
			reason = "the client " + client.String() + " is not in sourceRange"
		}
		answer.Refuse(w, r, l.status, l.name, reason)
	})
}
