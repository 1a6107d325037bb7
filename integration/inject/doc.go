// Package inject tests the admission webhook against a real API server: with the rights and the registration of
// deploy/kubernetes/injector, replicas of the built binary answer its reviews behind the Service.
package inject
