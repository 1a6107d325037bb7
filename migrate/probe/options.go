package probe

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// largestBody is the length of the longest body that is sent, in bytes.
const largestBody = 8 << 20

// otherClient is an address of a documentation range (RFC 5737).
const otherClient = "198.51.100.7"

// options adds probes about annotations.
func (g *generator) options(path string) {
	target := uri.Escape(path)
	options := g.at.Options
	g.header(target, http.MethodOptions, BareOptions)
	if options.CORS != nil {
		g.cors(target, options.CORS)
	}
	if options.Auth != nil || options.AuthRequest != nil {
		g.header(target, http.MethodGet, NoCredentials)
		g.header(target, http.MethodGet, BadCredentials, "Authorization", "Basic cHJvYmU6cHJvYmU=")
		g.header(target, http.MethodGet, SomeCookie, "Cookie", "probe=1")
		g.header(target, http.MethodOptions, Preflight, "Origin", "https://origin.invalid",
			"Access-Control-Request-Method", "GET")
	}
	if options.Access.Allow != nil || options.Access.Deny != nil {
		g.clients(target, &options.Access)
	}
	if g.at.Canary != nil {
		g.canary(target, g.at.Canary)
	}
	g.body(target, options.Proxy.BodySize)
}

// cors adds probes about cross-origin requests.
func (g *generator) cors(target string, cors *annotation.CORS) {
	allowed := "https://origin.invalid"
	if len(cors.Origins) > 0 && cors.Origins[0] != "*" {
		allowed = strings.Replace(cors.Origins[0], "*", "probe", 1)
	}
	const request = "Access-Control-Request-Method"
	g.header(target, http.MethodOptions, Preflight, "Origin", allowed, request, "PUT")
	g.header(target, http.MethodOptions, BadPreflight, "Origin", "https://stranger.invalid", request, "PUT")
	g.header(target, http.MethodGet, Origin, "Origin", allowed)
	g.header(target, http.MethodGet, BadOrigin, "Origin", "https://stranger.invalid")
	g.header(target, http.MethodGet, BadOrigin, "Origin", allowed+".stranger.invalid")
	g.header(target, http.MethodGet, Origin, "Origin", strings.ToUpper(allowed))
}

// clients adds probes from addresses that are listed, and from others.
func (g *generator) clients(target string, access *annotation.Access) {
	from := func(address string, reason Reason) {
		g.add(target, reason, func(p *Probe) { p.Client = address })
	}
	from(otherClient, OtherClient)
	for _, list := range [][]string{access.Allow, access.Deny} {
		if len(list) == 0 {
			continue
		}
		if network, err := netip.ParsePrefix(list[0]); err == nil {
			from(network.Addr().String(), ListedClient)
		} else {
			from(list[0], ListedClient)
		}
	}
}

// canary adds probes about the choice of a canary.
func (g *generator) canary(target string, canary *annotation.Canary) {
	if name := canary.Header; name != "" {
		g.header(target, http.MethodGet, CanaryAlways, name, "always")
		g.header(target, http.MethodGet, CanaryNever, name, "never")
		if canary.HeaderValue != "" {
			g.header(target, http.MethodGet, CanaryValue, name, canary.HeaderValue)
		}
		g.header(target, http.MethodGet, CanaryOther, name, canary.HeaderValue+"x")
		if canary.HeaderPattern != "" {
			g.header(target, http.MethodGet, CanaryValue, name, strings.TrimPrefix(sample(canary.HeaderPattern), "/"))
		}
	}
	if name := canary.Cookie; name != "" {
		g.header(target, http.MethodGet, CookieAlways, "Cookie", name+"=always")
		g.header(target, http.MethodGet, CookieNever, "Cookie", name+"=never")
		if canary.Header != "" {
			g.header(target, http.MethodGet, CookieAlways, canary.Header, "never", "Cookie", name+"=always")
		}
	}
}

// body adds probes about the length of bodies. A longer one than the limit is refused by its declared length.
func (g *generator) body(target string, limit int64) {
	if limit <= 0 {
		return
	}
	post := func(length int64, reason Reason) {
		g.add(target, reason, func(p *Probe) { p.Method, p.Length = http.MethodPost, length })
	}
	if limit <= largestBody {
		post(limit, BodyAtLimit)
	}
	post(limit+1, BodyOverLimit)
}
