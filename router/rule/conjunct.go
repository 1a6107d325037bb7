package rule

import (
	"strings"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// both returns the key that holds where both keys hold, or false when they exclude each other.
func (k Key) both(other Key) (Key, bool) {
	host, possible := expression.HostKey{Kind: k.HostKind, Host: k.Host}.Both(
		expression.HostKey{Kind: other.HostKind, Host: other.Host})
	if !possible {
		return Key{}, false
	}
	pathKind, path, possible := bothPaths(k, other)
	return Key{HostKind: host.Kind, Host: host.Host, PathKind: pathKind, Path: path}, possible
}

// bothPaths does not compare the normalised path with the other one, of which either condition may hold alone: it keeps
// one.
func bothPaths(a, b Key) (PathKind, string, bool) {
	switch {
	case a.PathKind == AnyPath:
		return b.PathKind, b.Path, true
	case b.PathKind == AnyPath:
		return a.PathKind, a.Path, true
	case a.PathKind.Normalized() != b.PathKind.Normalized():
		if b.PathKind.Exact() && !a.PathKind.Exact() {
			a = b
		}
		return a.PathKind, a.Path, true
	case a.PathKind.Exact() && b.PathKind.Exact():
		return a.PathKind, a.Path, a.Path == b.Path
	case a.PathKind.Exact():
		return a.PathKind, a.Path, strings.HasPrefix(a.Path, b.Path)
	case b.PathKind.Exact():
		return b.PathKind, b.Path, strings.HasPrefix(b.Path, a.Path)
	case len(a.Path) >= len(b.Path):
		return a.PathKind, a.Path, strings.HasPrefix(a.Path, b.Path)
	default:
		return b.PathKind, b.Path, strings.HasPrefix(b.Path, a.Path)
	}
}
