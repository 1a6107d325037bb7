// Package kubernetes measures what a cluster of thousands of routes costs Sluice, and how long a change takes to reach
// the traffic: endpoints that move, IngressRoutes that are made and edited, the start, and the memory through minutes
// of churn.
//
// In flow a real control plane with IngressRoutes, Services and EndpointSlices that are written directly, and the built
// binary; out flows a page for docs/performance with bounds, figures, configuration and every measurement.
//
// It asks the product for one figure, how long a change takes inside; for all else traffic, the kernel's account of CPU
// and memory, and a bare informer beside it tell. Nothing of it runs but as a benchmark that `make bench` asks for, all
// of it in a network namespace of its own.
package kubernetes
