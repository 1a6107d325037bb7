// Package balance tests how the running binary balances over endpoints that are slow, broken, stopped or killed.
//
// In flow requests by real clients, files that change, and endpoints, each of which is a process of its own: this test
// binary run once more. Out flow what the clients got, what arrived at the endpoints, and the metrics of Sluice. The
// tables of docs/performance/unreleased/balancing.md are what these tests print. It never looks into the packages of
// the product.
package balance
