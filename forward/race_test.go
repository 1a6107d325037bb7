//go:build race

package forward_test

// mostObjects is how many objects a request may cost. Under the race detector a sync.Pool forgets at random.
const mostObjects = 40
