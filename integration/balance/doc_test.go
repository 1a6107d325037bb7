// Package balance tests load balancing of the running binary over endpoints that are slow, broken, stopped or killed.
// Each endpoint is a process of its own: this test binary run once more. The tests compare the results of clients, the
// requests of endpoints, and Sluice's metrics, and print the tables of docs/performance/unreleased/balancing.md.
package balance
