package loadbalancer

import "github.com/sluiceproxy/sluice/loadbalancer/sticky"

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
// cookie. A client whose member has just failed the request moves to another one.
func (s *Snapshot) byCookie(p *Pool, r *Request) (keeper *Member, named bool) {
	for value := range s.policies.Cookie.Values(r.HTTP) {
		named = true
		kept, known := s.cookies[value]
		if !known {
			continue
		}
		if len(r.Tried) > 0 || !p.enter(s, kept.member, r) {
			break
		}
		if !kept.current {
			r.Cookie = s.policies.Cookie.Set(kept.member.sticky.id)
		}
		return kept.member, true
	}
	return nil, named
}
