package loadbalancer

import (
	"slices"

	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

// cookies maps the values of the sticky cookie to members, draining members included: they keep their clients.
type cookies map[string]cookieMember

// cookieMember is a member, and whether the value is the one that is given out today.
type cookieMember struct {
	member  *Member
	current bool
}

// stickyValues are the cookie value of a member, and older and alternative ones.
type stickyValues struct {
	id      string
	aliases []string
}

// newCookies returns the cookie values of the members that can serve.
func newCookies(s *Snapshot) cookies {
	known := make(cookies, len(s.candidates))
	for i := range s.candidates {
		if !s.candidates[i].sticks() {
			continue
		}
		member := s.candidates[i].member
		if member.sticky == nil {
			member.sticky = &stickyValues{id: sticky.ID(member.name), aliases: sticky.Aliases(member.name)}
			if url := member.spec.URL; url != "" && url != member.name {
				member.sticky.aliases = append(member.sticky.aliases, sticky.ID(url))
			}
		}
		for _, alias := range member.sticky.aliases {
			if _, taken := known[alias]; !taken {
				known[alias] = cookieMember{member: member}
			}
		}
	}
	for i := range s.candidates {
		if member := s.candidates[i].member; s.candidates[i].sticks() {
			known[member.sticky.id] = cookieMember{member: member, current: true}
		}
	}
	return known
}

// sticks reports whether the candidate keeps its clients.
func (c *candidate) sticks() bool { return c.share > 0 || c.state == Draining }

// byCookie returns the member that the client's cookie selects, counted in, or nil, and whether there is a
// cookie. A client whose member has just failed the request moves to another one, unless the cookie keeps it.
func (s *Snapshot) byCookie(p *Pool, r *Request) (keeper *Member, named bool) {
	cookie := &s.policies.Cookie
	for value := range cookie.Values(r.HTTP) {
		named = true
		kept := s.keeper(value, r)
		if kept.member == nil {
			continue
		}
		if len(r.Tried) > 0 && !cookie.Keeps() || !p.enter(s, kept.member, r) {
			break
		}
		if !kept.current {
			r.Cookie = cookie.Set(kept.member.sticky.id, r.HTTP)
		}
		return kept.member, true
	}
	return nil, named
}

// keeper returns the member that a value of the cookie selects, if there is one.
func (s *Snapshot) keeper(value string, r *Request) cookieMember {
	if s.balanced == nil {
		return s.cookies[value]
	}
	return cookieMember{member: s.hashed(value, r), current: true}
}

// hashed returns the member that a value of a balanced cookie selects.
func (s *Snapshot) hashed(value string, r *Request) *Member {
	client, attempt := r.Client, r.Attempt
	r.Client, r.Attempt = value, 0
	index := s.balanced.Pick(&r.Request)
	r.Client, r.Attempt = client, attempt
	return s.member(index)
}

// drawnValues is how many values of a balanced cookie are drawn in search of a member that may serve.
const drawnValues = 20

// balance draws a value of a balanced cookie for a new client, and returns its member, counted in; nil if none of the
// values has one that may serve.
func (s *Snapshot) balance(p *Pool, r *Request) *Member {
	if s.full(p) {
		return nil
	}
	for range drawnValues {
		value := sticky.Random()
		member := s.hashed(value, r)
		if member == nil {
			return nil
		}
		if !slices.Contains(r.Tried, member) && p.enter(s, member, r) {
			r.Cookie = s.policies.Cookie.Set(value, r.HTTP)
			return member
		}
	}
	return nil
}
