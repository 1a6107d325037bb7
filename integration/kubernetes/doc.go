// Package kubernetes tests the Kubernetes providers of the built Sluice with a real control plane, pods with addresses,
// and the permissions of deploy/kubernetes: responses to clients, /ready and /metrics, and what Sluice writes into the
// cluster.
package kubernetes
