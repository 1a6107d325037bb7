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

func bothPaths(a, b Key) (PathKind, string, bool) {
	switch {
	case a.PathKind == AnyPath:
		return b.PathKind, b.Path, true
	case b.PathKind == AnyPath:
		return a.PathKind, a.Path, true
	case a.PathKind == ExactPath && b.PathKind == ExactPath:
		return ExactPath, a.Path, a.Path == b.Path
	case a.PathKind == ExactPath:
		return ExactPath, a.Path, strings.HasPrefix(a.Path, b.Path)
	case b.PathKind == ExactPath:
		return ExactPath, b.Path, strings.HasPrefix(b.Path, a.Path)
	case len(a.Path) >= len(b.Path):
		return PrefixPath, a.Path, strings.HasPrefix(a.Path, b.Path)
	default:
		return PrefixPath, b.Path, strings.HasPrefix(b.Path, a.Path)
	}
}
