package reference

import (
	"reflect"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

func routersTCP() section {
	return section{
		name: "tcp-routers", of: reflect.TypeFor[dynamic.TCPRouter](), file: "tcp.routers.<name>",
		label: "traefik.tcp.routers.<name>.",
		resource: &resource{
			kind: "IngressRouteTCP", of: reflect.TypeFor[v1alpha1.IngressRouteTCP](), path: "spec.routes[0]",
			elsewhere: map[string]string{
				"rule": "match", "service": "services", "ruleSyntax": "syntax", "entryPoints": "spec.entryPoints",
				"tls": "spec.tls",
			},
		},
	}
}

func loadBalancerTCP() section {
	return section{
		name: "tcp-load-balancer", of: reflect.TypeFor[dynamic.TCPServersLoadBalancer](),
		file: "tcp.services.<name>.loadBalancer", label: "traefik.tcp.services.<name>.loadbalancer.",
		resource: &resource{
			kind: "IngressRouteTCP", of: reflect.TypeFor[v1alpha1.IngressRouteTCP](), path: "spec.routes[0].services[0]",
			elsewhere: map[string]string{"servers[0]": ""},
		},
	}
}

func weightedTCP() section {
	return section{
		name: "tcp-weighted", of: reflect.TypeFor[dynamic.TCPWeightedRoundRobin](), file: "tcp.services.<name>.weighted",
	}
}

func middlewaresTCP() section {
	return section{
		name: "tcp-middlewares", of: reflect.TypeFor[dynamic.TCPMiddleware](), file: "tcp.middlewares.<name>",
		label:    "traefik.tcp.middlewares.<name>.",
		resource: &resource{kind: "MiddlewareTCP", of: reflect.TypeFor[v1alpha1.MiddlewareTCP](), path: "spec"},
	}
}

func serversTransportsTCP() section {
	return section{
		name: "tcp-servers-transports", of: reflect.TypeFor[dynamic.TCPServersTransport](),
		file: "tcp.serversTransports.<name>",
		resource: &resource{
			kind: "ServersTransportTCP", of: reflect.TypeFor[v1alpha1.ServersTransportTCP](), path: "spec",
			elsewhere: map[string]string{"tls.certificates[0]": "tls.certificatesSecrets"},
		},
	}
}

func routersUDP() section {
	return section{
		name: "udp-routers", of: reflect.TypeFor[dynamic.UDPRouter](), file: "udp.routers.<name>",
		label: "traefik.udp.routers.<name>.",
		resource: &resource{
			kind: "IngressRouteUDP", of: reflect.TypeFor[v1alpha1.IngressRouteUDP](), path: "spec.routes[0]",
			elsewhere: map[string]string{"service": "services", "entryPoints": "spec.entryPoints"},
		},
	}
}

func loadBalancerUDP() section {
	return section{
		name: "udp-load-balancer", of: reflect.TypeFor[dynamic.UDPServersLoadBalancer](),
		file: "udp.services.<name>.loadBalancer", label: "traefik.udp.services.<name>.loadbalancer.",
		resource: &resource{
			kind: "IngressRouteUDP", of: reflect.TypeFor[v1alpha1.IngressRouteUDP](), path: "spec.routes[0].services[0]",
			elsewhere: map[string]string{"servers[0]": ""},
		},
	}
}

func weightedUDP() section {
	return section{
		name: "udp-weighted", of: reflect.TypeFor[dynamic.UDPWeightedRoundRobin](), file: "udp.services.<name>.weighted",
	}
}
