package reference

import (
	"reflect"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// section is a part of the page: the options of one type.
type section struct {
	// name is that of the place in the page where the section stands.
	name string
	of   reflect.Type
	// only is the one option of the type that belongs to the section; empty means all.
	only string
	// file is the path of the section in a file.
	file string
	// label is what the names of the options have in front of them in labels; empty where labels cannot declare them.
	label string
	// resource is where custom resources have the options; nil where there is none.
	resource *resource
}

// resource is the part of a custom resource that a section is declared with.
type resource struct {
	kind string
	of   reflect.Type
	// path is where the options begin within the kind.
	path string
	// elsewhere has the options that are called otherwise, by their paths in files; empty values are options that custom
	// resources do not have although the types share the name.
	elsewhere map[string]string
}

const servicesLabel = "traefik.http.services.<name>."

// sections are the parts of the page in their order.
func sections() []section {
	return []section{
		routers(), loadBalancer(), weighted(), highestRandomWeight(), mirroring(), failover(), canary(),
		serviceMiddlewares(),
		serversTransports(), certificates(), tlsOptions(), tlsStores(),
		routersTCP(), loadBalancerTCP(), weightedTCP(), middlewaresTCP(), serversTransportsTCP(),
		routersUDP(), loadBalancerUDP(), weightedUDP(),
	}
}

func routers() section {
	return section{
		name: "routers", of: reflect.TypeFor[dynamic.Router](), file: "http.routers.<name>",
		label: "traefik.http.routers.<name>.",
		resource: &resource{
			kind: "IngressRoute", of: reflect.TypeFor[v1alpha1.IngressRoute](), path: "spec.routes[0]",
			elsewhere: map[string]string{
				"rule": "match", "service": "services", "ruleSyntax": "syntax", "entryPoints": "spec.entryPoints",
				"parentRefs": "spec.parentRefs", "tls": "spec.tls",
			},
		},
	}
}

func loadBalancer() section {
	return section{
		name: "load-balancer", of: reflect.TypeFor[dynamic.ServersLoadBalancer](),
		file: "http.services.<name>.loadBalancer", label: servicesLabel + "loadbalancer.",
		resource: &resource{
			kind: "IngressRoute", of: reflect.TypeFor[v1alpha1.IngressRoute](), path: "spec.routes[0].services[0]",
			elsewhere: map[string]string{"servers[0]": ""},
		},
	}
}

func weighted() section {
	return section{
		name: "weighted", of: reflect.TypeFor[dynamic.WeightedRoundRobin](),
		file: "http.services.<name>.weighted", label: servicesLabel + "weighted.",
		resource: &resource{
			kind: "TraefikService", of: reflect.TypeFor[v1alpha1.TraefikService](), path: "spec.weighted",
			elsewhere: map[string]string{"healthCheck": ""},
		},
	}
}

func highestRandomWeight() section {
	return section{
		name: "highest-random-weight", of: reflect.TypeFor[dynamic.HighestRandomWeight](),
		file: "http.services.<name>.highestRandomWeight", label: servicesLabel + "highestrandomweight.",
		resource: &resource{
			kind: "TraefikService", of: reflect.TypeFor[v1alpha1.TraefikService](), path: "spec.highestRandomWeight",
			elsewhere: map[string]string{"healthCheck": ""},
		},
	}
}

func mirroring() section {
	return section{
		name: "mirroring", of: reflect.TypeFor[dynamic.Mirroring](),
		file: "http.services.<name>.mirroring", label: servicesLabel + "mirroring.",
		resource: &resource{
			kind: "TraefikService", of: reflect.TypeFor[v1alpha1.TraefikService](), path: "spec.mirroring",
			elsewhere: map[string]string{"service": "name", "healthCheck": ""},
		},
	}
}

func failover() section {
	return section{
		name: "failover", of: reflect.TypeFor[dynamic.Failover](),
		file: "http.services.<name>.failover", label: servicesLabel + "failover.",
		resource: &resource{
			kind: "TraefikService", of: reflect.TypeFor[v1alpha1.TraefikService](), path: "spec.failover",
			elsewhere: map[string]string{"healthCheck": ""},
		},
	}
}

func canary() section {
	return section{
		name: "canary", of: reflect.TypeFor[dynamic.Canary](),
		file: "http.services.<name>.canary", label: servicesLabel + "canary.",
		resource: &resource{
			kind: "TraefikService", of: reflect.TypeFor[v1alpha1.TraefikService](), path: "spec.canary",
		},
	}
}

// serviceMiddlewares is what every kind of service can have.
func serviceMiddlewares() section {
	return section{
		name: "service-middlewares", of: reflect.TypeFor[dynamic.Service](), only: "middlewares",
		file: "http.services.<name>", label: servicesLabel,
		resource: &resource{
			kind: "IngressRoute", of: reflect.TypeFor[v1alpha1.IngressRoute](), path: "spec.routes[0].services[0]",
		},
	}
}

func serversTransports() section {
	return section{
		name: "servers-transports", of: reflect.TypeFor[dynamic.ServersTransport](),
		file: "http.serversTransports.<name>",
		resource: &resource{
			kind: "ServersTransport", of: reflect.TypeFor[v1alpha1.ServersTransport](), path: "spec",
			elsewhere: map[string]string{"certificates[0]": "certificatesSecrets"},
		},
	}
}

func certificates() section {
	return section{
		name: "tls-certificates", of: reflect.TypeFor[dynamic.CertificateEntry](), file: "tls.certificates[0]",
		resource: &resource{
			kind: "TLSStore", of: reflect.TypeFor[v1alpha1.TLSStore](), path: "spec.certificates[0]",
			elsewhere: map[string]string{"certFile": "secretName", "keyFile": "secretName"},
		},
	}
}

func tlsOptions() section {
	return section{
		name: "tls-options", of: reflect.TypeFor[dynamic.TLSOptions](), file: "tls.options.<name>",
		resource: &resource{
			kind: "TLSOption", of: reflect.TypeFor[v1alpha1.TLSOption](), path: "spec",
			elsewhere: map[string]string{
				"clientAuth.caFiles": "clientAuth.secretNames", "clientAuth.crlFiles": "clientAuth.secretNames",
			},
		},
	}
}

func tlsStores() section {
	return section{
		name: "tls-stores", of: reflect.TypeFor[dynamic.TLSStore](), file: "tls.stores.<name>",
		resource: &resource{
			kind: "TLSStore", of: reflect.TypeFor[v1alpha1.TLSStore](), path: "spec",
			elsewhere: map[string]string{
				"defaultCertificate.certFile": "defaultCertificate.secretName",
				"defaultCertificate.keyFile":  "defaultCertificate.secretName",
			},
		},
	}
}
