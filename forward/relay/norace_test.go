//go:build !race

package relay_test

// mostIdleBytes is what an idle connection may hold: 7 KiB for two net.Conn, two goroutines with 2 KiB of stack each
// and what the relay keeps; the stack of the caller's goroutine may be larger.
const mostIdleBytes = 10 << 10
