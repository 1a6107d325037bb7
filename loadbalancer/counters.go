package loadbalancer

import "sync/atomic"

// Counters count what the mechanisms of a pool did. They are written where something went another way than usual, so
// that the usual way has no counter to share.
type Counters struct {
	// Retries are tries beyond the first; Exhausted are those that the budget did not allow.
	Retries, Exhausted atomic.Uint64
	// Ejections and Returns are of endpoints whose answers failed. Spared are those whose ejection would have taken more
	// than the share of the pool that may be out.
	Ejections, Returns, Spared atomic.Uint64
	// ChecksFailed and ChecksPassed are changes of the verdict of an active check.
	ChecksFailed, ChecksPassed atomic.Uint64
	// Panics are the times when so few endpoints were in good health that health did not count any more.
	Panics atomic.Uint64
	// Saturated are requests that were refused because a limit was reached, Waited those that waited for that.
	Saturated, Waited atomic.Uint64
	// Spilled are requests that left the zone because its endpoints were busier than others.
	Spilled atomic.Uint64
	// Moved are clients whose sticky endpoint could not answer any more.
	Moved atomic.Uint64
	// Cut are endpoints whose connections were ended when their time to drain was over.
	Cut atomic.Uint64
}
