package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Version is the version of the API, which is the same in all groups.
const Version = "v1alpha1"

// The groups under which the kinds are served.
const (
	// GroupSluice is our own group, whose objects have a status.
	GroupSluice = "sluice.dev"
	// GroupTraefik is the group of Traefik 2.10 and later.
	GroupTraefik = "traefik.io"
	// GroupContainous is the group of Traefik 2. It has no kind ServersTransportTCP.
	GroupContainous = "traefik.containo.us"
)

// The kinds of objects.
const (
	KindIngressRoute        = "IngressRoute"
	KindIngressRouteTCP     = "IngressRouteTCP"
	KindIngressRouteUDP     = "IngressRouteUDP"
	KindMiddleware          = "Middleware"
	KindMiddlewareTCP       = "MiddlewareTCP"
	KindTraefikService      = "TraefikService"
	KindServersTransport    = "ServersTransport"
	KindServersTransportTCP = "ServersTransportTCP"
	KindTLSOption           = "TLSOption"
	KindTLSStore            = "TLSStore"
)

// The names of the resources, as they stand in URLs and in RBAC rules.
const (
	ResourceIngressRoutes        = "ingressroutes"
	ResourceIngressRouteTCPs     = "ingressroutetcps"
	ResourceIngressRouteUDPs     = "ingressrouteudps"
	ResourceMiddlewares          = "middlewares"
	ResourceMiddlewareTCPs       = "middlewaretcps"
	ResourceTraefikServices      = "traefikservices"
	ResourceServersTransports    = "serverstransports"
	ResourceServersTransportTCPs = "serverstransporttcps"
	ResourceTLSOptions           = "tlsoptions"
	ResourceTLSStores            = "tlsstores"
)

// Groups returns the groups in order of precedence: of objects with the same kind, namespace and name, the one of the
// first group counts.
func Groups() []string { return []string{GroupSluice, GroupTraefik, GroupContainous} }

// GroupVersion returns the group with Version.
func GroupVersion(group string) schema.GroupVersion {
	return schema.GroupVersion{Group: group, Version: Version}
}

// AddToScheme registers the types and their lists under every one of Groups. ServersTransportTCP is registered under
// GroupContainous too, although no cluster serves it there.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, group := range Groups() {
		version := GroupVersion(group)
		scheme.AddKnownTypes(
			version,
			&IngressRoute{}, &IngressRouteList{},
			&IngressRouteTCP{}, &IngressRouteTCPList{},
			&IngressRouteUDP{}, &IngressRouteUDPList{},
			&Middleware{}, &MiddlewareList{},
			&MiddlewareTCP{}, &MiddlewareTCPList{},
			&TraefikService{}, &TraefikServiceList{},
			&ServersTransport{}, &ServersTransportList{},
			&ServersTransportTCP{}, &ServersTransportTCPList{},
			&TLSOption{}, &TLSOptionList{},
			&TLSStore{}, &TLSStoreList{},
		)
		metav1.AddToGroupVersion(scheme, version)
	}
	return nil
}
