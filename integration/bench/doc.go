// Package bench measures what a configuration costs the running binary: its start, the memory that it keeps, and one
// change.
//
// In flow a generated file of 10,000 routers, each with a host, a path prefix and a service of its own, and changes to
// it; out flow the CPU time of the process as the kernel counts it, the time from a write until the new route serves,
// and a test that fails when a change costs more than it may.
//
// It never asks the process anything while it measures but the one request that a change is waited for with.
package bench
