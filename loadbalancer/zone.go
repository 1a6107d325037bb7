package loadbalancer

import "slices"

// nearby returns a function that selects the members in this instance's zone, nil when zones are ignored. Zone
// hints are followed when every endpoint has some and one of them names the zone, as in kube-proxy.
func nearby(serving candidates, policy ZonePolicy, zone string) func(*Member) bool {
	if zone == "" || policy == ZoneNone {
		return nil
	}
	hinted := func(m *Member) bool { return slices.Contains(m.declared.ZoneHints, zone) }
	all := !slices.ContainsFunc(serving, func(c candidate) bool { return len(c.member.declared.ZoneHints) == 0 })
	if all && slices.ContainsFunc(serving, func(c candidate) bool { return hinted(c.member) }) {
		return hinted
	}
	if policy == ZoneLocal {
		return func(m *Member) bool { return m.declared.Zone == zone }
	}
	return nil
}
