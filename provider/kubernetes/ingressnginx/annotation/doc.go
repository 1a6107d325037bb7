// Package annotation reads the annotations and the ConfigMap of ingress-nginx 1.15.1 as data: which keys there are, what
// becomes of each, and the typed values that ingress-nginx would use. It is pure, and reads no object of a cluster.
//
// An invalid value has the outcome that it has in ingress-nginx, which differs from key to key: the default is used, the
// locations of the Ingress are denied, or the Ingress is not accepted at all. Where ingress-nginx would leave a location
// open because a value of an access rule is invalid, the location is denied.
package annotation
