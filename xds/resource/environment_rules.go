package resource

import (
	"cmp"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
)

// choice is how the requests to an environment service are divided among targets.
type choice struct {
	// options are those of the environment service. Its services are names of clusters, as far as readers need them.
	options *dynamic.Environment
	// subsets answer the tags of the subsets, in the order of the options, and standard answers requests without a tag,
	// and those of which no subset answers the tag.
	subsets  []*target
	standard *target
	// none is where requests go that nothing answers.
	none *target
}

// noneOf returns the name of a cluster without endpoints for requests that nothing answers: calls of gRPC fail with
// UNAVAILABLE, and Envoy responds with 503. Some gRPC clients reject the routes of an action that is none to clusters.
// No other cluster has the name, since tags hold no comma.
func noneOf(name string) string { return name + ",none" }

func newChoice(name string, options *dynamic.Environment, subsets []*target) *choice {
	return &choice{options: options, subsets: subsets, none: &target{splits: []split{{noneOf(name), unit()}}}}
}

// missing returns what answers a tag that no subset answers.
func (c *choice) missing() *target {
	if c.options.Fallback == dynamic.FallbackReject {
		return c.none
	}
	return c.standard
}

// rule sends the requests that a matcher matches to a target.
type rule struct {
	// matcher is nil for all requests.
	matcher *routev3.HeaderMatcher
	to      *target
}

// tagSource is a header with the tag.
type tagSource struct {
	header string
	// before and after are the parts of an alias's pattern; patterned is set if it has one.
	before, after string
	patterned     bool
	alias         bool
}

// rules returns the rules of a choice in order: the first one that matches applies.
//
// They need no inverted matchers, which differ between clients for headers that are absent: what a header does not
// have is left for later rules.
func (c *choice) rules() []rule {
	sources := sourcesOf(c.options)
	all := []rule{{exactly(sources[0].header, ""), c.standard}}
	order, known := c.deepestFirst(), c.known()
	for _, from := range sources {
		for _, i := range order {
			all = append(all, from.rules(c.options.Subsets[i].Tag, c.options.Splitter, !c.options.Strict, c.subsets[i])...)
		}
		for _, one := range known {
			all = append(all, from.rules(one.tag, c.options.Splitter, false, c.subsets[one.subset])...)
		}
		all = append(all, rule{from.tagged(), c.missing()})
	}
	return append(all, rule{nil, c.standard})
}

// sizeOf returns how many rules there are at most.
func sizeOf(options *dynamic.Environment) int {
	rules := 1 + 2*len(options.Subsets)
	if options.Strict {
		rules = 1 + len(options.Subsets) + len(options.Tags)
	}
	return 2 + rules*(1+len(options.Aliases))
}

// deepestFirst returns the indexes of the subsets, those with the longest tags first: an ancestor is shorter.
func (c *choice) deepestFirst() []int {
	order := make([]int, len(c.options.Subsets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		first, second := c.options.Subsets[a].Tag, c.options.Subsets[b].Tag
		return cmp.Or(cmp.Compare(len(second), len(first)), cmp.Compare(first, second))
	})
	return order
}

// knownTag is a tag of other services, with the index of the subset that answers it.
type knownTag struct {
	tag    string
	subset int
}

// known returns the tags of other services that a subset answers, sorted; none without strict.
func (c *choice) known() []knownTag {
	if !c.options.Strict {
		return nil
	}
	places := c.places()
	var all []knownTag
	for _, tag := range slices.Compact(slices.Sorted(slices.Values(c.options.Tags))) {
		if _, own := places[tag]; own {
			continue
		}
		if chain := c.ancestors(tag, places); len(chain) > 0 {
			all = append(all, knownTag{tag, chain[0]})
		}
	}
	return all
}

// places returns the indexes of the subsets by their tags.
func (c *choice) places() map[string]int {
	places := make(map[string]int, len(c.options.Subsets))
	for i := range c.options.Subsets {
		places[c.options.Subsets[i].Tag] = i
	}
	return places
}

// ancestors returns the subsets of the ancestors of a tag, the nearest one first.
func (c *choice) ancestors(tag string, places map[string]int) []int {
	var chain []int
	for {
		end := strings.LastIndex(tag, c.options.Splitter)
		if end <= 0 {
			return chain
		}
		tag = tag[:end]
		if i, ok := places[tag]; ok {
			chain = append(chain, i)
		}
	}
}

// sourcesOf returns the headers with the tag in order of precedence. The options have been checked.
func sourcesOf(options *dynamic.Environment) []tagSource {
	sources := []tagSource{{header: strings.ToLower(options.Header)}}
	for i := range options.Aliases {
		one := tagSource{
			header: strings.ToLower(options.Aliases[i].Name), alias: true, patterned: options.Aliases[i].Pattern != "",
		}
		if one.patterned {
			one.before, one.after, _ = environment.SplitPattern(&options.Aliases[i])
		}
		sources = append(sources, one)
	}
	return sources
}

// rules returns the rules for a tag, and if descendants is set for those below it.
func (s *tagSource) rules(tag, splitter string, descendants bool, to *target) []rule {
	if s.patterned {
		if expression := answered(tag, splitter, descendants); expression != "" {
			return []rule{{s.matching(expression), to}}
		}
		return nil
	}
	all := []rule{{exactly(s.header, tag), to}}
	if descendants {
		all = append(all, rule{stringMatch(s.header, &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: tag + splitter},
		}), to})
	}
	return all
}

// tagged returns the matcher for requests of which the header decides: that of the service by being there, an alias by
// having a tag.
func (s *tagSource) tagged() *routev3.HeaderMatcher {
	switch {
	case s.patterned:
		return s.matching(`(?-i:` + environment.TagPattern + `)`)
	case s.alias:
		return regexMatch(s.header, ".+")
	}
	return &routev3.HeaderMatcher{
		Name: s.header, HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true},
	}
}

// matching returns the matcher for the pattern with an expression in place of the tag.
func (s *tagSource) matching(expression string) *routev3.HeaderMatcher {
	return regexMatch(s.header, s.before+expression+s.after)
}

func regexMatch(header, expression string) *routev3.HeaderMatcher {
	return stringMatch(header, &matcherv3.StringMatcher{
		MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: expression}},
	})
}

func exactly(header, value string) *routev3.HeaderMatcher {
	return stringMatch(header, &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: value}})
}

func stringMatch(header string, how *matcherv3.StringMatcher) *routev3.HeaderMatcher {
	return &routev3.HeaderMatcher{
		Name: header, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: how},
	}
}
