//go:build !race

package ratelimit

// raced says that the race detector watches.
const raced = false
