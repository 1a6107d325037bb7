package serving

import "sync/atomic"

const (
	oneRead  uint64 = 1
	oneWrite uint64 = 1 << 24
	reads    uint64 = oneWrite - 1
	writes   uint64 = (oneWrite - 1) << 24
	ended    uint64 = 1 << 63
)

// Guard keeps calls on the writer and the body of a request from outliving its handler: it counts those that are under
// way and admits none after the end. The zero value admits calls.
type Guard struct{ state atomic.Uint64 }

// Under is which calls were under way when a guard ended.
type Under struct{ Reads, Writes bool }

// Any reports whether a call was under way.
func (u Under) Any() bool { return u.Reads || u.Writes }

// Read begins a call that reads; it is false after the end. EndRead ends it.
func (g *Guard) Read() bool { return g.enter(oneRead) }

// Write begins a call that writes; it is false after the end. EndWrite ends it.
func (g *Guard) Write() bool { return g.enter(oneWrite) }

// EndRead ends a call that Read began. It reports whether it was the last call under way after the end.
func (g *Guard) EndRead() (last bool) { return g.state.Add(^(oneRead - 1)) == ended }

// EndWrite ends a call that Write began. It reports whether it was the last call under way after the end.
func (g *Guard) EndWrite() (last bool) { return g.state.Add(^(oneWrite - 1)) == ended }

// Open reports whether End has not been called.
func (g *Guard) Open() bool { return g.state.Load()&ended == 0 }

// EndIdle is End if no call is under way. It reports whether it was.
func (g *Guard) EndIdle() bool { return g.state.CompareAndSwap(0, ended) }

// End admits no more calls, and returns which are under way.
func (g *Guard) End() Under { return under(g.state.Or(ended)) }

// Under returns which calls are under way.
func (g *Guard) Under() Under { return under(g.state.Load()) }

func under(state uint64) Under { return Under{Reads: state&reads != 0, Writes: state&writes != 0} }

func (g *Guard) enter(unit uint64) bool {
	for {
		state := g.state.Load()
		if state&ended != 0 {
			return false
		}
		if g.state.CompareAndSwap(state, state+unit) {
			return true
		}
	}
}
