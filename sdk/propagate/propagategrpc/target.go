package propagategrpc

import (
	"net"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/sdk/propagate"
)

// allows reports whether calls to a target with a scheme (gRPC Name Resolution) get the tag.
func allows(p propagate.Propagator, target string) bool {
	scheme, host := split(target)
	switch {
	case scheme == "unix" || scheme == "unix-abstract":
		host = "localhost"
	case scheme == "xds" && p.AllowHost == nil:
		return true
	}
	return p.Allows(host)
}

// split returns the scheme of a target and the host of its endpoint, without port and brackets. The
// host is empty where the target is no URI, or has several addresses, as some resolvers accept.
func split(target string) (scheme, host string) {
	parsed, err := url.Parse(target)
	if err != nil {
		return "", ""
	}
	endpoint := strings.TrimPrefix(parsed.Path, "/")
	if endpoint == "" {
		endpoint = parsed.Opaque
	}
	if strings.Contains(endpoint, ",") {
		return parsed.Scheme, ""
	}
	if host, _, err = net.SplitHostPort(endpoint); err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(endpoint, "["), "]")
	}
	return parsed.Scheme, host
}
