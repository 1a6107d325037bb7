package router

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/rule"
)

// beaten describes a router that does not answer, and says why; winner may be nil.
func beaten(route, winner *index.Route[*Route], view *rule.Request) Candidate {
	loser := candidate(route, view)
	switch {
	case !loser.Matches:
		loser.Reason = "its rule does not match"
	case winner == nil: // Unreachable: a route outside of the walk does not match.
		loser.Reason = "its rule matches, but it was not evaluated"
	case route.Priority < winner.Priority:
		loser.Reason = fmt.Sprintf("its rule matches too, but its priority is below %d", winner.Priority)
	case index.ComparePrecedence(route.Precedence, winner.Precedence) != 0:
		loser.Reason = "its rule matches too with the same priority, but its precedence is lower"
	case !route.Created.Equal(winner.Created):
		loser.Reason = "its rule matches too with the same priority, but it was created later"
	case route.Provider != winner.Provider:
		loser.Reason = "its rule matches too with the same priority, but its provider comes later"
	default:
		loser.Reason = "its rule matches too with the same priority, but its name comes later"
	}
	return loser
}

// elsewhere matches the routers of other entrypoints, and those with TLS for a request without it or the reverse.
// Sluice's own routers (dashboard, redirections of entrypoints) match most requests and are left out.
func (t *Table) elsewhere(chosen *entry, view *rule.Request, secure bool) []Elsewhere {
	var found []Elsewhere
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		for _, tls := range []bool{false, true} {
			other := t.entries[name]
			if other == chosen && tls == secure {
				continue
			}
			if route := other.index(tls).Match(view); route != nil && !strings.HasSuffix(route.Name, "@"+internalProvider) {
				found = append(found, Elsewhere{Router: route.Name, EntryPoint: name, TLS: tls})
			}
		}
	}
	return found
}

func withTLS(secure bool) string {
	if secure {
		return "with TLS"
	}
	return "without TLS"
}

func isAddress(text string) bool {
	if _, err := netip.ParseAddrPort(text); err == nil {
		return true
	}
	_, err := netip.ParseAddr(text)
	return err == nil
}
