package ingressnginx

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// guard is a middleware that decides whether a request may pass, with its name.
type guard struct {
	name       string
	middleware *dynamic.Middleware
}

// access refuses addresses, and authenticates clients: all of that has to let a request pass, or with satisfy any one
// of it.
func (d *locationDraft) access() {
	lists, credentials := d.lists(), d.authentication()
	if !d.options.Access.SatisfyAny || len(lists) == 0 && len(credentials) < 2 || len(credentials) == 0 {
		for _, one := range append(lists, d.signingIn(credentials)...) {
			d.add(phaseAccess, one.name, one.middleware)
		}
		return
	}
	var members []string
	for _, one := range lists {
		members = append(members, d.putGuard(one))
	}
	if len(members) > 1 { // Both lists are one decision.
		both := &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: members}}
		members = []string{d.putGuard(guard{hashed("lists", both), both})}
	}
	for _, one := range credentials {
		members = append(members, d.putGuard(one))
	}
	d.use(phaseAccess, "satisfyany", &dynamic.Middleware{SatisfyAny: &dynamic.SatisfyAny{Middlewares: members}})
}

// signingIn returns passwords and subrequest as one guard if the page for signing in is also for wrong passwords, which
// it is in nginx where both decide.
func (d *locationDraft) signingIn(credentials []guard) []guard {
	if len(credentials) < 2 || credentials[1].middleware.AuthRequest.SigninURL == "" {
		return credentials
	}
	both := &dynamic.Middleware{Chain: &dynamic.Chain{}}
	for _, one := range credentials {
		both.Chain.Middlewares = append(both.Chain.Middlewares, d.putGuard(one))
	}
	chain := d.putGuard(guard{hashed("credentials", both), both})
	redirecting := &dynamic.Middleware{SatisfyAny: &dynamic.SatisfyAny{Middlewares: []string{chain}}}
	return []guard{{hashed("signin", redirecting), redirecting}}
}

// putGuard declares a guard that no router lists, and returns its name.
func (d *locationDraft) putGuard(one guard) string {
	d.result.Put(dynamic.Ref{Kind: dynamic.KindMiddleware, Name: one.name}, one.middleware)
	return one.name
}

// lists returns the lists of addresses. Those of block-cidrs are for locations without lists of their own, as rules of
// nginx are inherited.
func (d *locationDraft) lists() []guard {
	var allow, deny []string
	if d.ingress != nil {
		allow, deny = d.options.Access.Allow, d.options.Access.Deny
	}
	if len(allow)+len(deny) == 0 {
		deny = d.settings().BlockCIDRs
	}
	if len(allow)+len(deny) == 0 {
		return nil
	}
	client, problem := d.clientAddress()
	if problem != "" {
		d.refuse(dynamic.CodeInvalidOption, "lists of addresses: "+problem, false)
		return nil
	}
	var all []guard
	if len(deny) > 0 {
		list := &dynamic.Middleware{IPDenyList: &dynamic.IPDenyList{SourceRange: deny, IPStrategy: client}}
		all = append(all, guard{hashed("denylist", list), list})
	}
	if len(allow) > 0 {
		list := &dynamic.Middleware{IPAllowList: &dynamic.IPAllowList{SourceRange: allow, IPStrategy: client}}
		all = append(all, guard{hashed("allowlist", list), list})
	}
	return all
}

// phaseBlocked is the key of what a server refuses before everything else.
const phaseBlocked = phaseServer + 1

// blockedClients are the user agents and referers that a ConfigMap blocks.
type blockedClients struct {
	of *annotation.Settings
	// match matches them; with an error it matches everything.
	match dynamic.Match
	err   error
}

// blockedBy returns what the settings in force block. It is read once for all hosts.
func (p *Provider) blockedBy() *blockedClients {
	known := &p.blocked
	if known.of == p.settings {
		return known
	}
	agents, err := headerMatches("User-Agent", p.settings.BlockUserAgents)
	referers, wrong := headerMatches("Referer", p.settings.BlockReferers)
	if err == nil {
		err = wrong
	}
	*known = blockedClients{of: p.settings, match: dynamic.Match{Any: append(agents, referers...)}, err: err}
	if err != nil {
		known.match = matcher("NormalizedPathPrefix", "/")
	}
	return known
}

// blocked declares the routers that refuse user agents and referers which the ConfigMap blocks. An expression that
// cannot be compiled closes the server.
func (d *serverDraft) blocked() {
	settings := d.provider.settings
	if len(settings.BlockUserAgents)+len(settings.BlockReferers) == 0 {
		return
	}
	clients := d.provider.blockedBy()
	names := d.plan.hosts()
	if twin := d.plan.Twin; twin != "" {
		names = append(names, hostNames{
			key: hostKind(twin) * lengthOfName, any: []dynamic.Match{matcher("Host", twin)}, suffix: ",www",
		})
	}
	for _, tls := range []bool{false, true} {
		draft := &locationDraft{
			provider: d.provider, options: d.options, server: d.plan, result: d.result, tls: tls,
			name: nameOfServer(d.plan.Host) + ",blocked",
		}
		draft.run(ofServer)
		if clients.err != nil {
			draft.refuse(dynamic.CodeInvalidOption, "block-user-agents and block-referers of the ConfigMap: "+
				clients.err.Error(), false)
		}
		draft.service = draft.directResponse(&dynamic.DirectResponse{Status: http.StatusForbidden})
		if tls && d.provider.passes(d.plan) {
			names = names[1:] // The host itself comes first.
		}
		for _, one := range names {
			draft.router(draft.name+one.suffix, one.with(clients.match), []int64{one.key, phaseBlocked})
		}
	}
}

// headerMatches returns what matches a header by the keys of a map of nginx: texts without regard to case, and
// expressions behind "~", or behind "~*" without regard to case. An absent header is an empty one.
func headerMatches(header string, keys []string) ([]dynamic.Match, error) {
	var matches []dynamic.Match
	for _, key := range keys {
		pattern, expression := strings.CutPrefix(key, "~")
		if !expression {
			pattern = "(?i)^" + regexp.QuoteMeta(strings.TrimPrefix(key, `\`)) + "$"
			matches = append(matches, dynamic.Match{Name: "HeaderRegexp", Args: []string{header, pattern}})
			continue
		}
		if rest, caseless := strings.CutPrefix(pattern, "*"); caseless {
			pattern = "(?i)" + rest
		}
		compiled, err := pcre.Compile(pattern, 0)
		if err == nil {
			_, err = regexp.Compile(pattern) // The language of rules.
		}
		if err != nil {
			return nil, err
		}
		if pattern == "" {
			pattern = "^"
		}
		matches = append(matches, dynamic.Match{Name: "HeaderRegexp", Args: []string{header, pattern}})
		if compiled.Match("") {
			given := dynamic.Match{Name: "HeaderRegexp", Args: []string{header, "^"}}
			matches = append(matches, dynamic.Match{Not: &given})
		}
	}
	return matches, nil
}
