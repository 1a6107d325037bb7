// Package bench measures the cost of a configuration for the running binary: its start, its memory, and one change.
//
// The configuration is a generated file of 10,000 routers, each with a host, a path prefix and a service of its own. It
// measures the CPU time of the process and the time from a write until the new route serves; a test fails if a change
// costs too much. While measuring, the only requests are those that wait for a change.
package bench
