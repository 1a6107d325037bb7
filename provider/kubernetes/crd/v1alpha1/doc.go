// Package v1alpha1 is the Go form of the custom resources that Kubernetes users declare routes with.
//
// In flow objects as the API server sends them, under any of three groups with the same kinds: sluice.dev, traefik.io
// and traefik.containo.us. Out flow the same objects, typed, and the definitions below deploy/crds, which
// the generator makes from the markers here. What an object means is the translation's business: the types never
// follow a reference, fill in a default or judge a value. Pointers stand wherever a default is not the zero value.
//
// An object that does not fit the types (old definitions let anything pass) is not lost, and costs no other object
// its place in a list: its spec is filled as far as it fits, and the field Malformed of the spec says what does not.
//
// The group sluice.dev has a status beyond what the other two have, and refuses specs that hold no kind of middleware
// or service, or more than one. Its load balancers have further options (Balancing, and rise, fall and jitter of health
// checks), which the definitions of the other two leave out. The types are registered under every group, so that
// objects are decoded by their apiVersion; encoding one needs its TypeMeta, and a status is therefore sent as
// a merge patch of the subresource, with the REST client of sluice.dev/v1alpha1.
//
// +kubebuilder:object:generate=true
// +groupName=sluice.dev
// +versionName=v1alpha1
package v1alpha1
