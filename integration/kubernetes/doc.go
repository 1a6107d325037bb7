// Package kubernetes tests the providers of a cluster as its users meet them.
//
// In flow manifests: a real control plane takes them, pods with addresses follow from them, and a built Sluice reads
// them with the rights of deploy/kubernetes. Out flow the answers that clients get, what /ready and /metrics say, and
// what Sluice writes into the cluster. It never looks into the packages of the product.
package kubernetes
