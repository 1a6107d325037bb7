// Package picker chooses a candidate of a list for each request.
//
// New creates the Picker of a Strategy over the Candidates of one moment, with a State that outlives the list. A
// Picker returns the index of a candidate for each Request. Except for counters it is immutable, so any number of
// goroutines pick concurrently; a new list needs a new Picker.
//
// In every strategy a candidate's share of the requests is its weight relative to the others', as long as all of them
// are equally fast. The strategies differ in what moves requests away from that share, and in the key of a hash.
//
// A pick takes no lock, allocates nothing and does not read the clock: the instant is part of the request.
package picker
