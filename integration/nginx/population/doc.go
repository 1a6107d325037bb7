// Package population makes many Ingresses of ingress-nginx for a cluster of package cluster, with a mixture of
// annotations, and the endpoints behind them. Tests and benchmarks of a real control plane share it.
package population
