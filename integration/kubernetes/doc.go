// Package kubernetes tests the providers of a cluster as its users meet them: a real control plane, pods with addresses, a
// built Sluice that reads the cluster with the rights of deploy/kubernetes, and clients before it.
//
// It never looks into the packages of the product.
package kubernetes
