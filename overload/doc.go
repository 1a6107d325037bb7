// Package overload decides what Sluice does while a resource is short.
//
// A [Monitor] measures the pressure on one resource, where 1 is its limit: [Memory], [Scheduler], [Descriptors] and
// [Count]. The [Ladder] samples them and runs a ladder of actions. An [Action] begins when two samples in a row have
// reached its threshold, and ends when the pressure has fallen below it by the hysteresis. The pressure that counts
// rises at once and falls slowly, so that the relief that an action brings does not end it at once.
//
// The router uses the Ladder as its Shedder: requests of less important routers are refused first. The refused share of
// a class grows with the pressure. A resource that work waits for, a [Queue], limits how many requests are served at a
// time instead: the limit follows the pressure, begins with one sample where far more requests than usual are served,
// and ends when it refuses no requests. Reading an action or refusing a
// request takes atomic operations, no lock and no memory.
package overload
