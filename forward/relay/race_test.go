//go:build race

package relay_test

// mostIdleBytes is what an idle connection may hold. The race detector's frames are larger.
const mostIdleBytes = 32 << 10

// mostPipes is how many pipes 40 connections may use one after the other. The race detector has pools forget some.
const mostPipes = 256
