//go:build race

package relay_test

// mostIdleBytes is what an idle connection may hold. The race detector's frames are larger.
const mostIdleBytes = 32 << 10
