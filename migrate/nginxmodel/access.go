package nginxmodel

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// access notes limits, and decides by addresses and credentials.
func (q *request) access() (out answer.Answer, done bool) {
	q.limits()
	exempt := begins(q.model.settings.NoAuth, q.place.path)
	allowed := q.allowedAddress()
	options := q.place.options
	auth := q.subrequest()
	password := options.Auth != nil && !exempt
	subrequest := auth != nil
	if options.Access.SatisfyAny {
		restricted := len(options.Access.Allow)+len(options.Access.Deny) > 0
		switch {
		case restricted && allowed, subrequest && q.authenticated():
			return out, false
		case !password && !subrequest && allowed:
			return out, false
		case !password && !subrequest:
			return q.refuse(http.StatusForbidden, answer.Addresses), true
		}
	} else if !allowed {
		return q.refuse(http.StatusForbidden, answer.Addresses), true
	}
	if password {
		return q.unauthorized(options.Auth, auth), true
	}
	if subrequest && !q.authenticated() {
		return q.signin(auth), true
	}
	return out, false
}

// subrequest returns the external authentication of the location; nil for none.
func (q *request) subrequest() *annotation.AuthRequest {
	options := q.place.options
	switch {
	case begins(q.model.settings.NoAuth, q.place.path):
		return nil
	case options.AuthRequest == nil && options.GlobalAuth:
		return q.model.settings.GlobalAuth
	}
	return options.AuthRequest
}

// limits notes what would be answered if the client sent more.
func (q *request) limits() {
	limit, settings := q.place.options.Limit, q.model.settings
	if contains(limit.Allow, q.client) {
		return
	}
	for _, one := range []struct {
		rate annotation.Rate
		unit string
	}{{limit.PerSecond, "second"}, {limit.PerMinute, "minute"}} {
		if one.rate.Limit > 0 {
			q.out.Notes = append(q.out.Notes, fmt.Sprintf("%d for more than %d requests per %s and client, after %d at once",
				settings.RateStatus, one.rate.Limit, one.unit, one.rate.Burst+1))
		}
	}
	if limit.Connections > 0 {
		q.out.Notes = append(q.out.Notes, fmt.Sprintf("%d for more than %d requests at a time of a client",
			settings.ConnectionStatus, limit.Connections))
	}
}

// allowedAddress reports whether the lists let the client pass. Those of the ConfigMap apply where a location has none.
func (q *request) allowedAddress() bool {
	access := q.place.options.Access
	if len(access.Allow)+len(access.Deny) == 0 {
		return !contains(q.model.settings.BlockCIDRs, q.client)
	}
	return !contains(access.Deny, q.client) && (len(access.Allow) == 0 || contains(access.Allow, q.client))
}

// contains reports whether an address is in a list of addresses and networks.
func contains(list []string, address netip.Addr) bool {
	return slices.ContainsFunc(list, func(item string) bool {
		if network, err := netip.ParsePrefix(item); err == nil {
			return network.Contains(address)
		}
		one, err := netip.ParseAddr(item)
		return err == nil && one == address
	})
}

// listed reports whether a header has one of some values, in any case of letters, or matches one of the expressions
// among them, which begin with "~".
func listed(list []string, value string) bool {
	return slices.ContainsFunc(list, func(item string) bool {
		text, is := strings.CutPrefix(item, "~")
		if !is {
			return strings.EqualFold(item, value)
		}
		text, caseless := strings.CutPrefix(text, "*")
		flags := pcre.Flags(0)
		if caseless {
			flags = pcre.Caseless
		}
		pattern, err := pcre.Compile(text, flags)
		return err == nil && pattern.Match(value)
	})
}

// authenticated reports whether the external authentication lets the request pass.
func (q *request) authenticated() bool {
	return q.Header.Get("Authorization") != "" || q.Header.Get("Cookie") != ""
}

// unauthorized demands a password, or sends the client to where the external authentication would.
func (q *request) unauthorized(auth *annotation.Auth, external *annotation.AuthRequest) answer.Answer {
	if external != nil && external.Signin != "" {
		return q.signin(external)
	}
	kind := "Basic"
	if auth.Digest {
		kind = "Digest"
	}
	q.out.Header.Set("Www-Authenticate", kind+" realm="+strconv.Quote(auth.Realm))
	return q.refuse(http.StatusUnauthorized, answer.Password)
}

// escaped returns a text as the Lua module of nginx escapes it: letters, digits and -._~!*'() stay as they are.
func escaped(text string) string {
	return strings.NewReplacer("+", "%20", "%21", "!", "%2A", "*", "%27", "'", "%28", "(", "%29", ")").Replace(
		url.QueryEscape(text))
}

// signin sends the client to where it can authenticate, or refuses it.
func (q *request) signin(auth *annotation.AuthRequest) answer.Answer {
	q.out.Notes = append(q.out.Notes, "the external authentication is presumed to answer 401 without credentials")
	if auth.Signin == "" {
		return q.refuse(http.StatusUnauthorized, answer.AuthRequest)
	}
	back := auth.SigninParam + "=" + q.scheme + "://" + q.Probe.Host + escaped(q.target)
	target := auth.Signin
	switch parsed, err := url.Parse(target); {
	case err != nil || len(parsed.Query()) == 0:
		target += "?" + back
	case parsed.Query().Get(auth.SigninParam) == "":
		target += "&" + back
	}
	q.out.Header.Set("Location", q.text(target))
	return q.finish(http.StatusFound, answer.AuthRequest)
}
