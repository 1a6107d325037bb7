// Package webhook serves the mutating admission webhook that injects into pods.
//
// In flow AdmissionReviews (admission.k8s.io/v1 and v1beta1) from the API server; each pod is passed to an Injector,
// and its decision is the answer. A Handler answers one review; a Server adds TLS, time limits and the pages /healthz
// and /ready; Events records decisions in the cluster; Status is what operators see.
//
// A fault of the injector does not refuse a pod unless OnError is Deny. Memory is bounded: a review waits for its share
// for a short time, and is answered 429 when too many wait.
package webhook
