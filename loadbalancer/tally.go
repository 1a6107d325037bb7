package loadbalancer

// tally is how many endpoints of a pool could serve, and how those stand. It is made once for a round of verdicts, since a pool
// of which everybody fails has as many verdicts as endpoints.
type tally struct {
	round uint64
	// total are all of them, out those that are ejected, unreachable those of them that could not be reached, failing others that
	// do not do well.
	total, out, unreachable, failing int
}

// tally returns the tally of this round.
func (r *Registry) tally(pool *Pool) *tally {
	if pool.tallied.round == r.round {
		return &pool.tallied
	}
	t := tally{round: r.round}
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
	pool.tallied = t
	return &pool.tallied
}

// without returns how many endpoints could serve, a suspect among them in any case, and how many of the others are out, and
// failing.
func (t *tally) without(m *Member) (total, out, failing int) {
	if m.couldServe() {
		return t.total, t.out, max(t.failing-1, 0)
	}
	return t.total + 1, t.out, t.failing
}

// move notes that a suspect is ejected, or with -1 that a member is back, which has to succeed before it counts as well.
func (t *tally) move(m *Member, by int) {
	if m.couldServe() {
		t.out += by
		t.unreachable += by * number(m.unreachable)
		t.failing = max(t.failing-by, 0)
	}
}

// couldServe reports whether only an ejection could keep the member from serving.
func (m *Member) couldServe() bool { return m.stays && !m.down }
