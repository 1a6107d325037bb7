package server

import "sync"

const (
	// freeBytes is what the decoded heads of a connection may hold whatever others hold.
	freeBytes = 64 << 10
	// connBytes is what the decoded heads of a connection may hold at most, unless one head may be larger than half of
	// it.
	connBytes = 2 << 20
	// totalBytes is what the decoded heads of all connections of a server may hold, beyond freeBytes for each.
	totalBytes = 64 << 20
	// fieldOverhead is what a field counts beyond its name and value (RFC 9113, section 6.5.2).
	fieldOverhead = 32
	// trailerOverhead is what an announced trailer counts beyond its name: three bytes of Trailer make an entry of a map.
	trailerOverhead = 64
)

// shared is the budget of all connections of a server.
type shared struct {
	// perConn is the limit of one connection.
	perConn int64

	// mutex guards the fields below. It is taken only by connections beyond freeBytes.
	mutex sync.Mutex
	// total is the sum of charged.
	total int64
	// charged is what connections hold beyond freeBytes.
	charged map[*account]int64
}

// charge sets what a connection holds beyond freeBytes, and reports whether there is room for it. Room is made by
// ending the connections that hold most, as long as they hold more than this one would: a client with many large heads
// does not end the connections of others.
func (s *shared) charge(a *account, amount int64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if a.evicted {
		return false
	}
	for s.total-s.charged[a]+amount > totalBytes {
		largest := s.largest(a)
		if largest == nil || s.charged[largest] <= amount {
			return false
		}
		s.set(largest, 0)
		largest.evicted = true
		go largest.end()
	}
	s.set(a, amount)
	return true
}

// set changes what is charged to a connection. The mutex is held.
func (s *shared) set(a *account, amount int64) {
	s.total += amount - s.charged[a]
	if amount == 0 {
		delete(s.charged, a)
		return
	}
	if s.charged == nil {
		s.charged = map[*account]int64{}
	}
	s.charged[a] = amount
}

// largest returns the connection other than a that is charged most, or nil. The mutex is held.
func (s *shared) largest(a *account) *account {
	var found *account
	for other, amount := range s.charged {
		if other != a && (found == nil || amount > s.charged[found]) {
			found = other
		}
	}
	return found
}

// account is what the decoded heads of one connection hold.
type account struct {
	shared *shared
	// end ends the connection with ENHANCE_YOUR_CALM. It may block.
	end func()
	// evicted is set when the connection has been ended to make room for others. The mutex of shared guards it.
	evicted bool

	mutex sync.Mutex
	held  int64
}

// take reserves n bytes, and reports whether the budgets have room for them.
func (a *account) take(n int64) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.held+n > a.shared.perConn {
		return false
	}
	if beyond := excess(a.held + n); beyond > 0 && !a.shared.charge(a, beyond) {
		return false
	}
	a.held += n
	return true
}

// give returns n bytes that were reserved.
func (a *account) give(n int64) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	before := excess(a.held)
	a.held -= n
	if before > 0 {
		a.shared.release(a, excess(a.held))
	}
}

// release lowers what is charged to a connection.
func (s *shared) release(a *account, amount int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !a.evicted {
		s.set(a, amount)
	}
}

// excess returns what of held counts for the shared budget.
func excess(held int64) int64 { return max(held-freeBytes, 0) }
