package loadbalancer

import "slices"

// nearby tells who is near this instance, nil when it does not matter. Hints are followed when every endpoint has some and one
// of them names the zone, as kube-proxy follows them.
func nearby(serving []*Member, policy ZonePolicy, zone string) func(*Member) bool {
	if zone == "" || policy == ZoneNone {
		return nil
	}
	hinted := func(m *Member) bool { return slices.Contains(m.hints, zone) }
	all := !slices.ContainsFunc(serving, func(m *Member) bool { return len(m.hints) == 0 })
	if all && slices.ContainsFunc(serving, hinted) {
		return hinted
	}
	if policy == ZoneLocal {
		return func(m *Member) bool { return m.zone == zone }
	}
	return nil
}
