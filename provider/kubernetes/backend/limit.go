package backend

import "github.com/sluiceproxy/sluice/dynamic"

// mostRepeated bounds what the routes of one object repeat. No object that somebody writes comes near it, and without it a
// megabyte of manifest could become many gigabytes of configuration.
const mostRepeated = 100_000

// Excess says when an object has more routes than may have that many names in common (entrypoints, parents, domains),
// each of which every route repeats. It returns nil when all is well.
func Excess(routes, names int) *Problem {
	if names == 0 || routes <= mostRepeated/names {
		return nil
	}
	return wrong(dynamic.CodeInvalidSource, "its %d routes have %d entrypoints, domains and other names in common, which makes more than %d",
		routes, names, mostRepeated)
}
