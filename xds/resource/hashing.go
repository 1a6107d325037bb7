package resource

import (
	"errors"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

// hashPolicies is a list of hash policies of a route. The hashes of all that apply are combined, up to a terminal one.
type hashPolicies = []*routev3.RouteAction_HashPolicy

// maxAge is the longest lifetime of a cookie in seconds: 400 days, to which browsers shorten longer ones (RFC 6265bis).
const maxAge = 400 * 24 * 60 * 60

// isSticky reports whether a load balancer keeps clients on servers by a cookie.
func isSticky(config *dynamic.ServersLoadBalancer) bool {
	return config.Sticky != nil && config.Sticky.Cookie != nil
}

// hashingOf returns how the requests to a load balancer are hashed; empty if they are not.
func hashingOf(name string, strategy picker.Strategy, config *dynamic.ServersLoadBalancer) (hashPolicies, error) {
	hashing, err := hashingOfStrategy(strategy)
	if err != nil || !isSticky(config) {
		return hashing, err
	}
	cookie, err := stickyCookie(name, config.Sticky.Cookie)
	if err != nil {
		return nil, err
	}
	if len(hashing) == 0 {
		hashing = hashPolicies{channelID()}
	}
	return append(hashPolicies{cookie}, hashing...), nil
}

func hashingOfStrategy(strategy picker.Strategy) (hashPolicies, error) {
	switch strategy.Name {
	case dynamic.StrategyHRW:
		return byClient(), nil
	case dynamic.StrategyHash:
	default:
		return nil, nil
	}
	if strategy.Hash.SubsetSize > 0 {
		return nil, errors.New("its hash has subsets, which have no counterpart in xDS")
	}
	switch strategy.Hash.Source {
	case dynamic.HashHeader:
		return hashPolicies{{PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{
			Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: strings.ToLower(strategy.Hash.Name)},
		}}}, nil
	case dynamic.HashCookie:
		return hashPolicies{{PolicySpecifier: &routev3.RouteAction_HashPolicy_Cookie_{
			Cookie: &routev3.RouteAction_HashPolicy_Cookie{Name: strategy.Hash.Name},
		}}}, nil
	case dynamic.HashClientIP:
		return byClient(), nil
	}
	return nil, errors.New("its hash has the source " + strategy.Hash.Source + ", which gRPC clients cannot hash")
}

// byClient hashes what identifies a client: the channel in gRPC, the address in Envoy. Each ignores the other.
func byClient() hashPolicies {
	return hashPolicies{channelID(), {PolicySpecifier: &routev3.RouteAction_HashPolicy_ConnectionProperties_{
		ConnectionProperties: &routev3.RouteAction_HashPolicy_ConnectionProperties{SourceIp: true},
	}}}
}

// channelID hashes a random number of each gRPC channel (gRFC A42).
func channelID() *routev3.RouteAction_HashPolicy {
	return &routev3.RouteAction_HashPolicy{PolicySpecifier: &routev3.RouteAction_HashPolicy_FilterState_{
		FilterState: &routev3.RouteAction_HashPolicy_FilterState{Key: "io.grpc.channel_id"},
	}}
}

// stickyCookie hashes the sticky cookie of a service. Envoy sets a cookie that is missing, with the same attributes;
// gRPC ignores cookies.
func stickyCookie(service string, config *dynamic.Cookie) (*routev3.RouteAction_HashPolicy, error) {
	checked, err := sticky.New(service, config)
	if err != nil {
		return nil, err
	}
	switch {
	case config.SecureByScheme, config.ConditionalSameSiteNone, config.Expires != 0:
		return nil, errors.New("its sticky cookie has attributes that depend on the response (secureByScheme, " +
			"conditionalSameSiteNone or expires), and those of Envoy do not")
	case config.ReadOnly:
		return nil, errors.New("its sticky cookie is readOnly, and Envoy sets one that is missing")
	case checked.Keeps():
		return nil, errors.New("it sets changeOnFailure to false, and clients try another server")
	}
	cookie := &routev3.RouteAction_HashPolicy_Cookie{Name: checked.Name(), Path: "/"}
	if config.Path != nil {
		cookie.Path = *config.Path
	}
	if config.MaxAge >= 0 {
		cookie.Ttl = &durationpb.Duration{Seconds: int64(min(config.MaxAge, maxAge))}
	}
	attribute := func(name, value string, set bool) {
		if set {
			cookie.Attributes = append(cookie.Attributes,
				&routev3.RouteAction_HashPolicy_CookieAttribute{Name: name, Value: value})
		}
	}
	attribute("Domain", config.Domain, config.Domain != "")
	attribute("HttpOnly", "", config.HTTPOnly)
	attribute("SameSite", config.SameSite, config.SameSite != "")
	attribute("Secure", "", config.Secure)
	attribute("Partitioned", "", config.Partitioned)
	return &routev3.RouteAction_HashPolicy{
		PolicySpecifier: &routev3.RouteAction_HashPolicy_Cookie_{Cookie: cookie},
		Terminal:        true,
	}, nil
}

// join returns the hash policies of a route to two targets. A route has one list for all of its clusters, so that two
// that hash must hash the same; RING_HASH is the only policy that uses it.
func join(a, b hashPolicies) (hashPolicies, error) {
	equal := func(a, b *routev3.RouteAction_HashPolicy) bool { return proto.Equal(a, b) }
	switch {
	case len(a) == 0:
		return b, nil
	case len(b) == 0 || slices.EqualFunc(a, b, equal):
		return a, nil
	}
	return nil, errors.New("its services hash requests by different keys, and a route has one")
}
