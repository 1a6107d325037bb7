package router

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/rule"
)

// hostFit is what the host of a request has in common with that of a rule, from most to least.
type hostFit int

const (
	sameHost hostFit = iota
	patternHost
	similarHost
	noHost
	otherHost
)

// comparedLength is the number of bytes of a host or path that are compared edit by edit.
const comparedLength = 64

// nearness orders rules by what they share with a request: first the host, then the path, then the number of other
// matchers that do not hold, and then by the edits between them. Smaller is nearer.
type nearness struct {
	host hostFit
	// hostEdits counts before the path between similar hosts alone.
	hostEdits int
	otherPath bool
	// shared is the number of bytes with which both paths begin.
	shared    int
	others    int
	pathEdits int
}

func (n nearness) compare(other nearness) int {
	otherPath := func(n nearness) int {
		if n.otherPath {
			return 1
		}
		return 0
	}
	if order := cmp.Compare(n.host, other.host); order != 0 {
		return order
	}
	if order := cmp.Compare(n.hostEdits, other.hostEdits); n.host == similarHost && order != 0 {
		return order
	}
	return cmp.Or(cmp.Compare(otherPath(n), otherPath(other)), cmp.Compare(other.shared, n.shared),
		cmp.Compare(n.others, other.others), cmp.Compare(n.pathEdits, other.pathEdits),
		cmp.Compare(n.hostEdits, other.hostEdits))
}

// nearest returns the routes whose rules share most with the request, without those that were seen.
func nearest(routes []*index.Route[*Route], view *rule.Request, seen map[string]bool, most int) []*index.Route[*Route] {
	if most <= 0 {
		return nil
	}
	type candidate struct {
		route    *index.Route[*Route]
		nearness nearness
	}
	var all []candidate
	for _, route := range routes {
		if !seen[route.Name] {
			all = append(all, candidate{route, nearnessOf(route.Rule, view)})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.nearness.compare(b.nearness) })
	var found []*index.Route[*Route]
	for _, one := range all[:min(most, len(all))] {
		found = append(found, one.route)
	}
	return found
}

// nearnessOf returns that of the nearest alternative of a rule.
func nearnessOf(parsed *rule.Rule, view *rule.Request) nearness {
	var failed failedMatchers
	_, steps := parsed.Explain(view)
	for _, step := range steps {
		switch matcher := strings.TrimPrefix(step.Matcher, "!"); {
		case strings.HasPrefix(matcher, "Host"):
			failed.host = true
		case strings.HasPrefix(matcher, "Path"), strings.HasPrefix(matcher, "NormalizedPath"):
			failed.path = true
		default:
			failed.others++
		}
	}
	byPattern := strings.Contains(parsed.Canonical(), "HostRegexp(")
	best := nearness{host: otherHost, hostEdits: comparedLength, otherPath: true, others: failed.others}
	for _, key := range parsed.Keys() {
		candidate := nearness{others: failed.others}
		candidate.compareHost(key, view.Host, failed.host, byPattern)
		path := view.Path
		if key.PathKind.Normalized() {
			path = view.Normalized()
		}
		candidate.comparePath(key, path, failed.path)
		if candidate.compare(best) < 0 {
			best = candidate
		}
	}
	return best
}

// failedMatchers says which matchers keep a rule from holding.
type failedMatchers struct {
	host, path bool
	others     int
}

// compareHost fills in what the key of a rule shares with the host of the request; failed says whether a matcher of
// hosts does not hold, which may be one that is in no key, and byPattern whether the rule has a HostRegexp.
func (n *nearness) compareHost(key rule.Key, host string, failed, byPattern bool) {
	switch key.HostKind {
	case rule.ExactHost:
		if key.Host == host {
			n.host = sameHost
			return
		}
		n.host, n.hostEdits = otherHost, edits(host, key.Host)
		if _, similar := document.Nearest(host, []string{key.Host}); similar {
			n.host = similarHost
		}
	case rule.WildcardHost:
		parent := rule.WildcardKey(host)
		if key.Host == parent {
			n.host = patternHost
			return
		}
		n.host, n.hostEdits = otherHost, edits(parent, key.Host)
		if _, similar := document.Nearest(parent, []string{key.Host}); similar {
			n.host = similarHost
		}
	case rule.SuffixHost:
		n.host, n.hostEdits = otherHost, edits(host, key.Host)
		for parent := range rule.Parents(host) {
			if parent == key.Host {
				n.host, n.hostEdits = patternHost, 0
			}
		}
	default:
		switch {
		case failed:
			n.host, n.hostEdits = otherHost, comparedLength
		case byPattern:
			n.host = patternHost
		default:
			n.host = noHost
		}
	}
}

// comparePath does the same for the path.
func (n *nearness) comparePath(key rule.Key, path string, failed bool) {
	switch {
	case key.PathKind == rule.AnyPath:
		n.otherPath = failed
		return
	case key.PathKind.Exact() && key.Path == path, !key.PathKind.Exact() && strings.HasPrefix(path, key.Path):
		return
	}
	n.otherPath, n.pathEdits = true, edits(path, key.Path)
	for n.shared < min(len(path), len(key.Path)) && path[n.shared] == key.Path[n.shared] {
		n.shared++
	}
}

// edits is the distance of two texts, of which only the beginnings are compared.
func edits(a, b string) int {
	return document.Distance(a[:min(len(a), comparedLength)], b[:min(len(b), comparedLength)])
}
