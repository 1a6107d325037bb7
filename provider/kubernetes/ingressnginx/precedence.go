package ingressnginx

import "strings"

// The kinds of names of servers in the order in which nginx looks for them. Hosts with a wildcard are expressions of
// one label in ingress-nginx, and aliases with a wildcard are nginx's own, of any number of labels.
const (
	anyName int64 = iota
	expressionName
	trailingWildcard
	leadingWildcard
	exactName
)

// hostKind returns the first key of the precedence of routers for a host of an Ingress.
func hostKind(host string) int64 {
	switch {
	case host == anyHost:
		return anyName
	case strings.HasPrefix(host, "*"):
		return expressionName
	}
	return exactName
}

// aliasKind is as hostKind, for an alias.
func aliasKind(alias string) int64 {
	switch {
	case strings.HasPrefix(alias, "~"):
		return expressionName
	case strings.HasPrefix(alias, "*."):
		return leadingWildcard
	case strings.HasSuffix(alias, ".*"):
		return trailingWildcard
	}
	return exactName
}

// The phases of a server, of which the larger one decides: prefixes and expressions, then exact locations. The
// redirect to a final slash is between them, and what a server answers before it looks for a location above.
const (
	phaseLocation int64 = 0
	phaseExact    int64 = 2
)

// bytesOfKey is how many bytes of a path one key of a precedence holds, which is never negative then.
const bytesOfKey = 7

// precedence returns the precedence of a location, by its place among the plan's, for a name of a kind. Where two
// locations match a path, nginx chooses the one with the larger precedence.
//
// Without regular expressions that is the exact location, then the one with the longest name. Regular expressions are
// tried in the order of the paths that Ingresses have: longer ones first, then by their text, descending.
func (p *serverPlan) precedence(kind int64, place int) []int64 {
	location := &p.Locations[place]
	if !p.Regex {
		phase := phaseLocation
		if location.Exact {
			phase = phaseExact
		}
		return []int64{kind, phase, int64(len(location.Name))}
	}
	keys := []int64{kind, phaseLocation, int64(len(location.Path))}
	for text := location.Path; text != ""; text = text[min(bytesOfKey, len(text)):] {
		key := int64(0)
		for i := range bytesOfKey {
			key <<= 8
			if i < len(text) {
				key |= int64(text[i])
			}
		}
		keys = append(keys, key)
	}
	// The locations of one path are side by side.
	last := place
	for last+1 < len(p.Locations) && p.Locations[last+1].Path == location.Path {
		last++
	}
	return append(keys, int64(last-place))
}
