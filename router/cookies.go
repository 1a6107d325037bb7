package router

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

// cookieKey is the identity of a cookie in browsers (RFC 6265 section 5.3): of two with the same key the later one is
// kept.
type cookieKey struct{ name, domain, path string }

func keyOf(cookie *sticky.Cookie, config *dynamic.Cookie) cookieKey {
	key := cookieKey{name: cookie.Name(), domain: config.Domain, path: "/"}
	if config.Path != nil {
		key.path = *config.Path
	}
	return key
}

// branchCookie returns the cookie that keeps clients on a service below the service of a name.
func branchCookie(name string, config *dynamic.Cookie) (sticky.Cookie, error) {
	cookie, err := sticky.New(name, config)
	switch {
	case err != nil:
		return sticky.Cookie{}, err
	case cookie.Balanced():
		return sticky.Cookie{}, errors.New("sticky.cookie.mode balanced is for servers: between services it is persistent")
	case cookie.Keeps():
		return sticky.Cookie{}, errors.New("sticky.cookie.changeOnFailure false is for servers, which requests are tried on")
	}
	return cookie, nil
}

// addCookies notes the cookies of a service below.
func (n *serviceNode) addCookies(keys []cookieKey) {
	for _, key := range keys {
		if !slices.Contains(n.cookies, key) {
			n.cookies = append(n.cookies, key)
		}
	}
}

// stick notes the service's own cookie, and warns where one below it has the same key: a browser would keep that one
// alone, and send none of this service. Kind is where the cookie is configured.
func (n *serviceNode) stick(kind string, own cookieKey) {
	if slices.Contains(n.cookies, own) {
		n.warnings = append(n.warnings, fmt.Sprintf(
			"%s.sticky.cookie.name %q is that of a service below it too, so that clients keep neither: give each its own",
			kind, own.name,
		))
	}
	n.addCookies([]cookieKey{own})
}
