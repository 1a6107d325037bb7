// Package kubernetes measures what a cluster of thousands of routes costs Sluice, and the latency of changes:
// endpoints, new and edited IngressRoutes, the start, and the memory over minutes of churn.
//
// It runs the built binary with a real control plane, whose EndpointSlices it writes directly, and writes a page for
// docs/performance with bounds, figures, configuration and every measurement. Apart from one metric of the product, the
// latency of a change, it measures traffic, the kernel's account of CPU and memory, and a bare informer for reference.
// It runs as a benchmark in `make bench`, in a network namespace of its own.
package kubernetes
