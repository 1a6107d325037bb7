//go:build !race

package forward_test

// mostObjects is how many objects a request may cost.
const mostObjects = 8
