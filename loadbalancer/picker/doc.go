// Package picker decides which member of a list takes a request.
//
// In flow a Strategy (from the configuration), the Candidates of one moment and a State that outlives them; out flow
// Pickers, which answer each Request with the index of a candidate. A Picker is immutable but for counters, so that any
// number of goroutines pick at once; whoever publishes a new list publishes a new Picker with it.
//
// In every strategy a candidate's share of the requests is its weight relative to the others', as long as all of them are
// equally fast; the strategies differ in what moves requests away from that share, and in what a request is hashed by.
//
// A pick never takes a lock, never allocates and never reads the clock: the instant comes with the request.
package picker
