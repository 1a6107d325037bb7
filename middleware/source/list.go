package source

import (
	"fmt"
	"net/http"
	"net/netip"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
)

// List is a set of addresses of clients, with the strategy that selects the address of a request's client: the options
// sourceRange and ipStrategy. It is immutable.
type List struct {
	ranges forwarded.Trust
	client forwarded.ClientStrategy
	// kind, sources and strategy are for warnings.
	kind     string
	sources  []string
	strategy *dynamic.IPStrategy
}

// NewList validates sourceRange, addresses and CIDR prefixes, and ipStrategy of a kind of middleware, with which errors
// begin.
func NewList(kind string, sources []string, strategy *dynamic.IPStrategy) (*List, error) {
	list := &List{kind: kind, sources: sources, strategy: strategy}
	var err error
	if list.ranges, err = forwarded.NewTrust(sources); err != nil {
		return nil, fmt.Errorf("%s.sourceRange: %w", kind, err)
	}
	if strategy == nil {
		return list, nil
	}
	if list.client, err = Client(strategy); err != nil {
		return nil, fmt.Errorf("%s.ipStrategy.%w", kind, err)
	}
	return list, nil
}

// Find returns the address of the client of a request, and whether it is in the list. It is not known, and in no list,
// if the strategy finds none. It does not allocate.
func (l *List) Find(r *http.Request) (client netip.Addr, listed, known bool) {
	client, known = l.client.Client(r)
	return client, known && l.ranges.Contains(client), known
}

// Warnings returns options without the apparent effect. What is the effect of a list on its addresses, such as
// "allows".
func (l *List) Warnings(what string) []string {
	if l.strategy == nil {
		return nil
	}
	var found []string
	excludes := len(l.strategy.ExcludedIPs) > 0
	if excludes && l.strategy.Depth > 0 {
		found = append(found, l.kind+".ipStrategy.excludedIPs is without effect beside depth")
		excludes = false
	}
	if l.strategy.IPv6Subnet == nil {
		return found
	}
	if excludes {
		return append(found, l.kind+".ipStrategy.ipv6Subnet is without effect beside excludedIPs")
	}
	for _, source := range l.sources {
		if narrower(source, *l.strategy.IPv6Subnet) {
			found = append(found, fmt.Sprintf(
				"%s.sourceRange %s is narrower than ipv6Subnet %d: every client counts as the first address of its subnet, so "+
					"that it %s all of a subnet or none",
				l.kind, source, *l.strategy.IPv6Subnet, what))
		}
	}
	return found
}

// narrower reports whether a source is an IPv6 prefix longer than bits.
func narrower(source string, bits int) bool {
	if addr, err := netip.ParseAddr(source); err == nil {
		return addr.Unmap().Is6() && bits < addr.BitLen()
	}
	prefix, err := netip.ParsePrefix(source)
	return err == nil && prefix.Addr().Unmap().Is6() && bits < prefix.Bits()
}

// Excluded is a set of clients that a limit does not apply to: the option excludedSourceRange. It is immutable. The
// zero value is empty.
type Excluded struct {
	ranges forwarded.Trust
	client forwarded.ClientStrategy
}

// NewExcluded validates excludedSourceRange of a kind of middleware, with which errors begin. The client's address is
// that of the connection, or that of the criterion's ipStrategy, in full: its ipv6Subnet does not apply.
func NewExcluded(kind string, sources []string, criterion *dynamic.SourceCriterion) (Excluded, error) {
	var e Excluded
	if len(sources) == 0 {
		return e, nil
	}
	var err error
	if e.ranges, err = forwarded.NewTrust(sources); err != nil {
		return Excluded{}, fmt.Errorf("%s.excludedSourceRange: %w", kind, err)
	}
	if criterion != nil && criterion.IPStrategy != nil {
		whole := *criterion.IPStrategy
		whole.IPv6Subnet = nil
		e.client, err = Client(&whole)
		if err != nil {
			return Excluded{}, fmt.Errorf("%s.sourceCriterion.ipStrategy.%w", kind, err)
		}
	}
	return e, nil
}

// Contains reports whether the client of a request is excluded. One of unknown address is not.
func (e *Excluded) Contains(r *http.Request) bool {
	if e.ranges.Empty() {
		return false
	}
	client, known := e.client.Client(r)
	return known && e.ranges.Contains(client)
}
