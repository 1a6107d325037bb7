package ingressnginx

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// hostNames are the names of a host that are of one kind, for which there is one router.
type hostNames struct {
	// key is the first key of the precedence.
	key int64
	// any matches one of the names; empty for anyHost.
	any []dynamic.Match
	// suffix is a part of the router's name.
	suffix string
}

// lengthOfName bounds the length of names in the key of a precedence: of those with a wildcard, nginx takes the longest
// one.
const lengthOfName = 1 << 16

// hosts returns the names of the host: itself first, then its aliases.
func (p *serverPlan) hosts() []hostNames {
	main := hostNames{key: hostKind(p.Host) * lengthOfName}
	switch {
	case p.Host == anyHost:
	default:
		main.any = []dynamic.Match{matcher("Host", p.Host)}
	}
	all := []hostNames{main}
	for _, alias := range p.Aliases {
		key, match := aliasMatch(alias)
		if at := slices.IndexFunc(all, func(n hostNames) bool { return n.key == key && n.suffix != "" }); at > 0 {
			all[at].any = append(all[at].any, match)
		} else {
			all = append(all, hostNames{key: key, any: []dynamic.Match{match}, suffix: ",alias" + aliasSuffix(key)})
		}
	}
	return all
}

// aliasMatch returns the key and the matcher of an alias. nginx looks for the name itself first, then for the longest
// one with a wildcard in front, the longest one with a wildcard behind, and for expressions.
func aliasMatch(alias string) (int64, dynamic.Match) {
	kind := aliasKind(alias)
	switch kind {
	case expressionName:
		return kind * lengthOfName, matcher("HostRegexp", alias[1:])
	case leadingWildcard:
		return kind*lengthOfName + int64(len(alias)), matcher("HostSuffix", alias[len("*."):])
	case trailingWildcard:
		return kind*lengthOfName + int64(len(alias)),
			matcher("HostRegexp", "^"+regexp.QuoteMeta(lower(strings.TrimSuffix(alias, "*")))+".")
	}
	return kind * lengthOfName, matcher("Host", alias)
}

// aliasSuffix returns what distinguishes the routers of aliases with different keys.
func aliasSuffix(key int64) string {
	kind, length := key/lengthOfName, key%lengthOfName
	text := map[int64]string{expressionName: "-expression", leadingWildcard: "-leading", trailingWildcard: "-trailing"}
	if length == 0 {
		return text[kind]
	}
	return cmp.Or(text[kind], "") + "-" + strconv.FormatInt(length, 10)
}

// with returns a rule for the names.
func (n *hostNames) with(match dynamic.Match) *dynamic.Match {
	switch len(n.any) {
	case 0:
		return &match
	case 1:
		return &dynamic.Match{All: []dynamic.Match{n.any[0], match}}
	}
	return &dynamic.Match{All: []dynamic.Match{{Any: n.any}, match}}
}
