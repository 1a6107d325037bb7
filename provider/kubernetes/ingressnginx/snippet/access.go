package snippet

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

const addressCaveat = "it compares the address of the connection; behind another proxy, ipStrategy chooses the client's"

// lists proposes middlewares for the directives deny and allow of the snippet, and returns the other directives.
// nginx applies the first one that holds the address, so that they are lists only where all denials but the last come
// first.
func (r *reader) lists(found []*directive) (others []*directive) {
	var rules []*directive
	for _, one := range found {
		if name := one.name(); name == "deny" || name == "allow" {
			rules = append(rules, one)
		} else {
			others = append(others, one)
		}
	}
	any := slices.ContainsFunc(found, func(one *directive) bool { return one.name() == "satisfy" })
	denied, allowed, ok := divide(rules)
	if len(rules) == 0 || !ok || any {
		return found
	}
	if len(denied) == 0 && allowed == nil {
		r.propose(Proposal{Caveats: []string{"all clients are let in anyway"}}, rules...)
		return others
	}
	if len(denied) > 0 {
		r.propose(Proposal{
			Kind: "ipDenyList", Middleware: &dynamic.Middleware{IPDenyList: &dynamic.IPDenyList{SourceRange: denied}},
			Caveats: []string{addressCaveat}, Protects: true,
		}, rules...)
	}
	if len(allowed) > 0 {
		r.propose(Proposal{
			Kind: "ipAllowList", Middleware: &dynamic.Middleware{IPAllowList: &dynamic.IPAllowList{SourceRange: allowed}},
			Caveats: []string{addressCaveat}, Protects: true,
		}, rules...)
	}
	return others
}

// divide returns the networks that rules deny before they allow any, and those that they allow if they deny all others;
// nil if they do not.
func divide(rules []*directive) (denied, allowed []string, ok bool) {
	for _, one := range rules {
		if len(one.words) != 2 || one.braces {
			return nil, nil, false
		}
		networks, ok := networksOf(one.words[1])
		deny := one.name() == "deny"
		switch {
		case !ok:
			return nil, nil, false
		case one.words[1] == "all" && deny && allowed != nil:
			return denied, allowed, true // What follows has no effect.
		case one.words[1] == "all" && deny:
			return append(denied, networks...), nil, true
		case one.words[1] == "all":
			// Networks that are allowed before all are allowed have no effect.
			return denied, nil, true
		case deny && allowed != nil:
			return nil, nil, false
		case deny:
			denied = append(denied, networks...)
		default:
			allowed = append(allowed, networks...)
		}
	}
	return denied, nil, true // Without deny all, what is allowed has no effect.
}

// networksOf returns the networks of a parameter of deny and allow.
func networksOf(text string) ([]string, bool) {
	if text == "all" {
		return everyone(), true
	}
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		return []string{text}, true
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return nil, false
	}
	return []string{network.Masked().String()}, true
}

func everyone() []string { return []string{"0.0.0.0/0", "::/0"} }

// returns proposes a middleware for return without a condition.
func (r *reader) returns(one *directive) {
	proposal, reason := answer(one)
	if reason != "" {
		r.rest(one, reason)
		return
	}
	r.propose(proposal, one)
}

// answer returns the middleware that answers as return does, or why there is none.
func answer(one *directive) (Proposal, string) {
	words := one.words[1:]
	if len(words) == 0 || len(words) > 2 || one.braces {
		return Proposal{}, "it takes a status, a status and a text, or a URL"
	}
	status := words[0]
	switch {
	case begins(status, "http://", "https://", "$scheme://") && len(words) == 1:
		return redirect("302", status)
	case len(words) == 2 && slices.Contains([]string{"301", "302", "303", "307", "308"}, status):
		return redirect(status, words[1])
	case len(status) == 3 && (status[0] == '4' || status[0] == '5'):
		proposal := Proposal{
			Kind: "ipDenyList", Middleware: &dynamic.Middleware{IPDenyList: &dynamic.IPDenyList{SourceRange: everyone()}},
			Protects: true,
		}
		if status != "403" {
			proposal.caveat("the status is 403 in place of " + status)
		}
		if len(words) == 2 {
			proposal.caveat("the text is not sent")
		}
		return proposal, ""
	}
	return Proposal{}, "a response with this status is no middleware; let a service answer"
}

// redirect returns the middleware that redirects to a URL with variables.
func redirect(status, to string) (Proposal, string) {
	replacement, reason := replacementOf(to)
	if reason != "" {
		return Proposal{}, reason
	}
	proposal := Proposal{Kind: "redirectRegex", Middleware: &dynamic.Middleware{RedirectRegex: &dynamic.RedirectRegex{
		Regex:       `^(https?)://(\[[^\]/]*\]|[^/?:]*)(:[0-9]+)?([^?]*)(\?.*)?$`,
		Replacement: replacement, Permanent: status == "301" || status == "308",
	}}}
	first, second := "302", "307"
	if proposal.Middleware.RedirectRegex.Permanent {
		first, second = "301", "308"
	}
	if status == first {
		proposal.caveat("methods other than GET are redirected with " + second)
	} else {
		proposal.caveat("the status is " + first + " for GET and " + second + " for other methods, in place of " + status)
	}
	if strings.Contains(to, "$uri") || strings.Contains(to, "$document_uri") {
		proposal.caveat("the path is the encoded one of the request")
	}
	return proposal, ""
}
