package xds

import (
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// kind is a published type of resources. The kinds are in the order in which additions are sent: what is referred to
// comes first.
type kind uint8

const (
	endpoints kind = iota
	clusters
	routes
	listeners
	kinds // their number
)

// kindOf returns the kind of a type URL; ok is false for a type that is not published.
func kindOf(typeURL string) (of kind, ok bool) {
	for of := range kinds {
		if of.typeURL() == typeURL {
			return of, true
		}
	}
	return 0, false
}

// typeURL returns the name of the type in the protocol.
func (k kind) typeURL() string {
	return [kinds]string{resource.EndpointType, resource.ClusterType, resource.RouteType, resource.ListenerType}[k]
}

// String returns the name of the type in metrics, the API and messages: eds, cds, rds or lds.
func (k kind) String() string { return [kinds]string{"eds", "cds", "rds", "lds"}[k] }

// sentInFull reports whether a state-of-the-world response contains all subscribed resources of the type, so that one
// that is missing does not exist. Only for these types a request without names stands for all resources.
func (k kind) sentInFull() bool { return k == listeners || k == clusters }
