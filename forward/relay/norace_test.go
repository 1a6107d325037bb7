//go:build !race

package relay_test

// mostIdleBytes is what an idle connection may hold.
const mostIdleBytes = 6 << 10
