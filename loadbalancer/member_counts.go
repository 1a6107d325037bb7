package loadbalancer

// memberCounts counts the members of a pool that could serve, by state. It is computed once for a round of
// results, since a pool whose endpoints all fail has as many results as endpoints.
type memberCounts struct {
	round uint64
	// total counts all of them, out the ejected ones, unreachable those of them that could not be connected to,
	// failing other members with recent failures.
	total, out, unreachable, failing int
}

// memberCounts returns the counts of the current round.
func (r *Registry) memberCounts(pool *Pool) *memberCounts {
	if pool.counts.round == r.round {
		return &pool.counts
	}
	t := memberCounts{round: r.round}
	for _, server := range pool.servers {
		for _, member := range server.members {
			if !member.couldServe() {
				continue
			}
			t.total++
			t.out += number(member.ejected)
			t.unreachable += number(member.ejected && member.unreachable)
			t.failing += number(member.outlier.Failing())
		}
	}
	pool.counts = t
	return &pool.counts
}

// without returns the number of members that could serve, always including m, and how many of the others are
// ejected and failing.
func (t *memberCounts) without(m *Member) (total, out, failing int) {
	if m.couldServe() {
		return t.total, t.out, max(t.failing-1, 0)
	}
	return t.total + 1, t.out, t.failing
}

// move records an ejection with by = 1, and a return with by = -1. A member that returned counts as failing
// until it succeeds.
func (t *memberCounts) move(m *Member, by int) {
	if m.couldServe() {
		t.out += by
		t.unreachable += by * number(m.unreachable)
		t.failing = max(t.failing-by, 0)
	}
}

// couldServe reports whether only an ejection could keep the member from serving.
func (m *Member) couldServe() bool { return m.stays() && !m.down }
