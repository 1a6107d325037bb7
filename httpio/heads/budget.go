// Package heads bounds the memory of decoded request heads: a field that HPACK or QPACK refers to by its index is one
// byte on the wire and kilobytes in a request, so that the size of what a client sends does not bound the size of what
// it makes a server hold.
package heads

import (
	"net/http"
	"sync"
)

const (
	// freeBytes is what the decoded heads of a connection may hold whatever others hold.
	freeBytes = 64 << 10
	// connBytes is what the decoded heads of a connection may hold at most, unless one head may be larger than half of
	// it.
	connBytes = 2 << 20
	// totalBytes is what the decoded heads of all connections of a server may hold, beyond freeBytes for each.
	totalBytes = 64 << 20
	// FieldOverhead is what a field counts beyond its name and value, in bytes (RFC 9113, section 6.5.2).
	FieldOverhead = 32
	// TrailerOverhead is what an announced trailer counts beyond its name, in bytes: three bytes of Trailer make an entry
	// of a map.
	TrailerOverhead = 64
)

// Bytes returns the size of a decoded head, as SETTINGS_MAX_HEADER_LIST_SIZE counts it, except for Trailer, whose
// names the server of net/http keeps in place of the field.
func Bytes(r *http.Request) int64 {
	n := len(r.Method) + len(r.Host) + len(r.RequestURI) + 3*FieldOverhead
	for name, values := range r.Header {
		for _, value := range values {
			n += len(name) + len(value) + FieldOverhead
		}
	}
	for name := range r.Trailer {
		n += len(name) + TrailerOverhead
	}
	return int64(n)
}

// Budget is what the heads of all connections of a server may hold: 64 MiB beyond the first 64 KiB of each.
type Budget struct {
	// perConn is the limit of one connection.
	perConn int64

	// mutex guards the fields below. It is taken only by connections beyond freeBytes.
	mutex sync.Mutex
	// total is the sum of charged.
	total int64
	// charged is what connections hold beyond freeBytes.
	charged map[*Account]int64
}

// NewBudget returns a budget in which a connection may hold 2 MiB, or two heads of maxHeaderBytes if they are larger.
func NewBudget(maxHeaderBytes int) *Budget {
	return &Budget{perConn: max(connBytes, 2*int64(maxHeaderBytes))}
}

// Account returns the account of a new connection. end is called at most once, on a goroutine of its own, when the
// connection has to end to make room for others; it may block.
func (b *Budget) Account(end func()) *Account { return &Account{budget: b, end: end} }

// Charged returns what connections hold beyond the first 64 KiB of each, in bytes.
func (b *Budget) Charged() int64 {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.total
}

// charge sets what a connection holds beyond freeBytes, and reports whether there is room for it. Room is made by
// ending the connections that hold most, as long as they hold more than this one would: a client with many large heads
// does not end the connections of others.
func (b *Budget) charge(a *Account, amount int64) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if a.evicted {
		return false
	}
	for b.total-b.charged[a]+amount > totalBytes {
		largest := b.largest(a)
		if largest == nil || b.charged[largest] <= amount {
			return false
		}
		b.set(largest, 0)
		largest.evicted = true
		go largest.end()
	}
	b.set(a, amount)
	return true
}

// set changes what is charged to a connection. The mutex is held.
func (b *Budget) set(a *Account, amount int64) {
	b.total += amount - b.charged[a]
	if amount == 0 {
		delete(b.charged, a)
		return
	}
	if b.charged == nil {
		b.charged = map[*Account]int64{}
	}
	b.charged[a] = amount
}

// largest returns the connection other than a that is charged most, or nil. The mutex is held.
func (b *Budget) largest(a *Account) *Account {
	var found *Account
	for other, amount := range b.charged {
		if other != a && (found == nil || amount > b.charged[found]) {
			found = other
		}
	}
	return found
}

// Account is what the decoded heads of one connection hold.
type Account struct {
	budget *Budget
	// end ends the connection. It may block.
	end func()
	// evicted is set when the connection has been ended to make room for others. The mutex of the budget guards it.
	evicted bool

	mutex sync.Mutex
	held  int64
}

// Take reserves n bytes, and reports whether the budgets have room for them.
func (a *Account) Take(n int64) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.held+n > a.budget.perConn {
		return false
	}
	if beyond := excess(a.held + n); beyond > 0 && !a.budget.charge(a, beyond) {
		return false
	}
	a.held += n
	return true
}

// Give returns n bytes that were reserved.
func (a *Account) Give(n int64) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	before := excess(a.held)
	a.held -= n
	if before > 0 {
		a.budget.release(a, excess(a.held))
	}
}

// release lowers what is charged to a connection.
func (b *Budget) release(a *Account, amount int64) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if !a.evicted {
		b.set(a, amount)
	}
}

// excess returns what of held counts for the shared budget.
func excess(held int64) int64 { return max(held-freeBytes, 0) }
