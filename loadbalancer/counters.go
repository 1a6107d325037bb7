package loadbalancer

import "sync/atomic"

// Counters count exceptional events of a pool. The usual path of a request has no shared counter.
type Counters struct {
	// Retries are attempts beyond the first; Exhausted are retries that the budget did not allow.
	Retries, Exhausted atomic.Uint64
	// Ejections and Returns count ejected members and their returns. EjectionsOverflow counts ejections that
	// the limit of ejected members prevented.
	Ejections, Returns, EjectionsOverflow atomic.Uint64
	// ChecksFailed and ChecksPassed count changes of the result of an active check.
	ChecksFailed, ChecksPassed atomic.Uint64
	// Panics counts the times when the pool entered panic mode.
	Panics atomic.Uint64
	// Saturated counts requests that were refused at a limit, Waited those that waited for it.
	Saturated, Waited atomic.Uint64
	// Spilled counts requests that left the zone because its endpoints were busier than others.
	Spilled atomic.Uint64
	// Moved counts clients whose sticky endpoint could not serve any more.
	Moved atomic.Uint64
	// Cut counts endpoints whose connections were closed at the end of their drain time.
	Cut atomic.Uint64
}
