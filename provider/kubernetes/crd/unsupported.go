package crd

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// The kinds for TCP and UDP declare their objects by name, each with the finding that it is not supported yet; nothing
// else of them is read. Names of routers and services are not normalized, as in Traefik.

// ingressRouteTCP names the router of each route, its service, and the services behind that where there are several.
func (t *translator) ingressRouteTCP(
	source translation.Source, object *v1alpha1.IngressRouteTCP,
) translation.Result {
	result := t.begin(source, object)
	for _, route := range object.Spec.Routes {
		sum := sha256.Sum256([]byte(route.Match))
		name := source.Namespace + "-" + source.Name + "-" + hex.EncodeToString(sum[:10])
		unsupported(&result, dynamic.KindTCPRouter, name)
		unsupported(&result, dynamic.KindTCPService, name)
		for _, service := range route.Services {
			if len(route.Services) > 1 {
				unsupported(&result, dynamic.KindTCPService, name+"-"+service.Name+"-"+service.Port.String())
			}
		}
	}
	t.nameless(&result, source, object.Spec.Malformed)
	return result
}

// ingressRouteUDP names the router of each route, its service, and the services behind that where there are several.
func (t *translator) ingressRouteUDP(
	source translation.Source, object *v1alpha1.IngressRouteUDP,
) translation.Result {
	result := t.begin(source, object)
	for i, route := range object.Spec.Routes {
		name := source.Namespace + "-" + source.Name + "-" + strconv.Itoa(i)
		unsupported(&result, dynamic.KindUDPRouter, name)
		unsupported(&result, dynamic.KindUDPService, name)
		for _, service := range route.Services {
			if len(route.Services) > 1 {
				unsupported(&result, dynamic.KindUDPService, name+"-"+service.Name+"-"+service.Port.String())
			}
		}
	}
	t.nameless(&result, source, object.Spec.Malformed)
	return result
}

// nameless says so when an object has no routes that could be named, and why.
func (t *translator) nameless(result *translation.Result, source translation.Source, misfit string) {
	switch {
	case len(result.Unsupported) > 0:
	case misfit != "":
		result.Quarantine(sourceRef(source), malformed(misfit), false)
	default:
		result.Quarantine(sourceRef(source), "it has no routes, and is not supported yet", false)
	}
}

func (t *translator) middlewareTCP(source translation.Source, object *v1alpha1.MiddlewareTCP) translation.Result {
	result := t.begin(source, object)
	unsupported(&result, dynamic.KindTCPMiddleware, objectName(source.Namespace, source.Name))
	return result
}

func (t *translator) serversTransportTCP(
	source translation.Source, object *v1alpha1.ServersTransportTCP,
) translation.Result {
	result := t.begin(source, object)
	unsupported(&result, dynamic.KindTCPServersTransport, objectName(source.Namespace, source.Name))
	return result
}

// unsupported adds an object by its name. Two routes with the same rule have the same name, which is said once.
func unsupported(result *translation.Result, kind dynamic.Kind, name string) {
	ref := dynamic.Ref{Kind: kind, Name: name}
	for _, known := range result.Unsupported {
		if known == ref {
			return
		}
	}
	result.Unsupported = append(result.Unsupported, ref)
	result.Quarantine(ref, "is not supported yet", false)
}
