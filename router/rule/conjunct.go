package rule

import "strings"

// both returns the key that holds where both keys hold, or false when they exclude each other.
func (k Key) both(other Key) (Key, bool) {
	hostKind, host, possible := bothHosts(k, other)
	if !possible {
		return Key{}, false
	}
	pathKind, path, possible := bothPaths(k, other)
	return Key{HostKind: hostKind, Host: host, PathKind: pathKind, Path: path}, possible
}

func bothHosts(a, b Key) (HostKind, string, bool) {
	switch {
	case a.HostKind == AnyHost:
		return b.HostKind, b.Host, true
	case b.HostKind == AnyHost:
		return a.HostKind, a.Host, true
	case a.HostKind == b.HostKind:
		return a.HostKind, a.Host, a.Host == b.Host
	case a.HostKind == ExactHost:
		return ExactHost, a.Host, WildcardKey(a.Host) == b.Host
	default:
		return ExactHost, b.Host, WildcardKey(b.Host) == a.Host
	}
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
