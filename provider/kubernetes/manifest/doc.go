// Package manifest answers the requests of a Kubernetes client from manifests, without a cluster, so that manifests are
// translated and validated by the same code as the objects of a cluster.
//
// Input is YAML or JSON as for kubectl apply, with several documents or a List; result is a Server, which is an
// http.RoundTripper: it lists objects, has watches on which nothing ever happens, and refuses everything else.
package manifest
