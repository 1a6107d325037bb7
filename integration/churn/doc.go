// Package churn changes the endpoints of pools ten thousand times while requests pass through them.
//
// In flow endpoint sets, as a provider sends them, of servers that come, leave, end and begin anew; through the hub,
// the pipeline, the registry and an entrypoint, all of them the real ones in this process; out flow the answers that
// clients get, and what is left when it is over: goroutines, memory, connections and checks.
//
// There is no cluster here and nothing is faked but the source of the sets.
package churn
