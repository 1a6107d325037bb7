package errors

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// rewrites maps codes to the status under which a page is sent, the narrowest set of codes first.
type rewrites []rewrite

// rewrite sends the pages of some codes under another.
type rewrite struct {
	from dynamic.StatusCodes
	to   int
}

// lastStatus is the highest status code that HTTP has (RFC 9110 section 15).
const lastStatus = 599

// parseRewrites parses the option statusRewrites. Where several keys contain a code, the one with the fewest
// codes wins, and among equals the first in text order.
func parseRewrites(option map[string]int) (rewrites, error) {
	var list rewrites
	for _, key := range slices.Sorted(maps.Keys(option)) {
		from, err := dynamic.ParseStatusCodes([]string{key})
		if err != nil {
			return nil, fmt.Errorf("errors.statusRewrites %q: %w", key, errors.Unwrap(err))
		}
		to := option[key]
		if to < http.StatusOK || to > lastStatus {
			return nil, fmt.Errorf("errors.statusRewrites %q: %d is no status code from 200 to 599", key, to)
		}
		list = append(list, rewrite{from, to})
	}
	slices.SortStableFunc(list, func(a, b rewrite) int { return cmp.Compare(a.size(), b.size()) })
	return list, nil
}

// size returns how many codes the set has.
func (r *rewrite) size() (n int) {
	for code := range lastStatus + 1 {
		if r.from.Contains(code) {
			n++
		}
	}
	return n
}

// of returns the status under which the page for a code is sent.
func (l rewrites) of(code int) int {
	for i := range l {
		if l[i].from.Contains(code) {
			return l[i].to
		}
	}
	return code
}
