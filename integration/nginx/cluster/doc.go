// Package cluster tests the provider kubernetesIngressNGINX with a real control plane: many Ingresses, canaries,
// changes under load, hostile annotations, what operators see, and other controllers beside it.
package cluster
