package loadbalancer

import "github.com/sluiceproxy/sluice/loadbalancer/sticky"

// cookies tell whom the value of a sticky cookie names. Members that drain are among them: they keep their clients.
type cookies map[string]named

// named is a member, and whether the value is the one that is given out today.
type named struct {
	member  *Member
	current bool
}

// newCookies knows the members that can answer.
func newCookies(s *Snapshot) cookies {
	known := make(cookies, len(s.members))
	for i, member := range s.members {
		if s.shares[i] == 0 && s.states[i] != Draining {
			continue
		}
		if member.stickyID == "" {
			member.stickyID, member.aliases = sticky.ID(member.name), sticky.Aliases(member.name)
			if url := member.declared; url != "" && url != member.name {
				member.aliases = append(member.aliases, sticky.ID(url))
			}
		}
		for _, alias := range member.aliases {
			if _, taken := known[alias]; !taken {
				known[alias] = named{member: member}
			}
		}
	}
	for i, member := range s.members {
		if s.shares[i] > 0 || s.states[i] == Draining {
			known[member.stickyID] = named{member: member, current: true}
		}
	}
	return known
}

// stuck returns the member that the client's cookie names, counted in, or nil, and whether there is a cookie. A client whose
// member has just failed it moves.
func (s *Snapshot) stuck(p *Pool, r *Request) (keeper *Member, named bool) {
	for value := range s.cookie.Values(r.HTTP) {
		named = true
		kept, known := s.cookies[value]
		if !known {
			continue
		}
		if len(r.Tried) > 0 || !p.enter(s, kept.member, r) {
			break
		}
		if !kept.current {
			r.Cookie = s.cookie.Set(kept.member.stickyID)
		}
		return kept.member, true
	}
	return nil, named
}
