// Package storage tests stores of certificates on real servers: Secrets of a Kubernetes API server, and etcd.
// Those on files and in Redis are tested beside their packages.
package storage
