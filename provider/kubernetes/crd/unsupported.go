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
	names := unread{result: &result}
	for _, route := range object.Spec.Routes {
		sum := sha256.Sum256([]byte(route.Match))
		name := source.Namespace + "-" + source.Name + "-" + hex.EncodeToString(sum[:10])
		names.add(dynamic.KindTCPRouter, name)
		names.add(dynamic.KindTCPService, name)
		for _, service := range route.Services {
			if len(route.Services) > 1 {
				names.add(dynamic.KindTCPService, name+"-"+service.Name+"-"+service.Port.String())
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
	names := unread{result: &result}
	for i, route := range object.Spec.Routes {
		name := source.Namespace + "-" + source.Name + "-" + strconv.Itoa(i)
		names.add(dynamic.KindUDPRouter, name)
		names.add(dynamic.KindUDPService, name)
		for _, service := range route.Services {
			if len(route.Services) > 1 {
				names.add(dynamic.KindUDPService, name+"-"+service.Name+"-"+service.Port.String())
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
		result.Quarantine(sourceRef(source), dynamic.CodeInvalidSource, malformed(misfit), false)
	default:
		result.Quarantine(sourceRef(source), dynamic.CodeUnsupportedKind, "it has no routes, and is not supported yet", false)
	}
}

func (t *translator) middlewareTCP(source translation.Source, object *v1alpha1.MiddlewareTCP) translation.Result {
	result := t.begin(source, object)
	names := unread{result: &result}
	names.add(dynamic.KindTCPMiddleware, objectName(source.Namespace, source.Name))
	return result
}

func (t *translator) serversTransportTCP(
	source translation.Source, object *v1alpha1.ServersTransportTCP,
) translation.Result {
	result := t.begin(source, object)
	names := unread{result: &result}
	names.add(dynamic.KindTCPServersTransport, objectName(source.Namespace, source.Name))
	return result
}

// unread is what an object declares of kinds that are not supported yet.
type unread struct {
	result *translation.Result
	known  map[dynamic.Ref]bool
}

// add adds an object by its name. Two routes with the same rule have the same name, which is said once.
func (u *unread) add(kind dynamic.Kind, name string) {
	ref := dynamic.Ref{Kind: kind, Name: name}
	if u.known[ref] {
		return
	}
	if u.known == nil {
		u.known = map[dynamic.Ref]bool{}
	}
	u.known[ref] = true
	u.result.Unsupported = append(u.result.Unsupported, ref)
	u.result.Quarantine(ref, dynamic.CodeUnsupportedKind, "is not supported yet", false)
}
