// Package ingressnginx measures the provider kubernetesIngressNGINX with thousands of Ingresses of mixed annotations
// and a real control plane: the start, edits, and requests to some hosts while the annotations of others change.
//
// It runs the built binary as the only client of the control plane beside this process, and writes a page with bounds,
// figures and every measurement. It runs as a benchmark in `make bench INGRESS=full`, in a network namespace of its
// own.
package ingressnginx
