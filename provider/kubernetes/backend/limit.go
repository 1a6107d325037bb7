package backend

import "github.com/sluiceproxy/sluice/dynamic"

// mostRepeated limits what the routes of one object repeat. Without it, a megabyte of manifest could become gigabytes
// of configuration.
const mostRepeated = 100_000

// Excess returns a problem if an object has more routes than may repeat that many names (entrypoints, parents,
// domains), and otherwise nil.
func Excess(routes, names int) *Problem {
	if names == 0 || routes <= mostRepeated/names {
		return nil
	}
	return wrong(dynamic.CodeInvalidSource,
		"its %d routes have %d entrypoints, domains and other names in common, which makes more than %d",
		routes, names, mostRepeated)
}
