// Package certificates_test has the built Sluice obtain certificates from a real ACME server, Pebble, as one process
// and as replicas, and tests the stores that need a control plane: Secrets of a Kubernetes API server, and etcd. Those
// on files and in Redis are tested beside their packages.
package certificates_test
