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
	result *translation.Result, source translation.Source, object *v1alpha1.IngressRouteTCP,
) {
	for _, route := range object.Spec.Routes {
		sum := sha256.Sum256([]byte(route.Match))
		name := source.Namespace + "-" + source.Name + "-" + hex.EncodeToString(sum[:10])
		unread(result, dynamic.KindTCPRouter, name)
		unread(result, dynamic.KindTCPService, name)
		for _, service := range route.Services {
			if len(route.Services) > 1 {
				unread(result, dynamic.KindTCPService, name+"-"+service.Name+"-"+service.Port.String())
			}
		}
	}
	t.nameless(result, source, object.Spec.Malformed)
}

// ingressRouteUDP names the router of each route, its service, and the services behind that where there are several.
func (t *translator) ingressRouteUDP(
	result *translation.Result, source translation.Source, object *v1alpha1.IngressRouteUDP,
) {
	for i, route := range object.Spec.Routes {
		name := source.Namespace + "-" + source.Name + "-" + strconv.Itoa(i)
		unread(result, dynamic.KindUDPRouter, name)
		unread(result, dynamic.KindUDPService, name)
		for _, service := range route.Services {
			if len(route.Services) > 1 {
				unread(result, dynamic.KindUDPService, name+"-"+service.Name+"-"+service.Port.String())
			}
		}
	}
	t.nameless(result, source, object.Spec.Malformed)
}

// nameless says so when an object has no routes that could be named, and why.
func (t *translator) nameless(result *translation.Result, source translation.Source, misfit string) {
	switch {
	case len(result.Objects) > 0:
	case misfit != "":
		result.Quarantine(source.Ref(), dynamic.CodeInvalidSource, malformed(misfit), false)
	default:
		result.Quarantine(source.Ref(), dynamic.CodeUnsupportedKind, "it has no routes, and is not supported yet", false)
	}
}

// unread declares an object of a kind that is not supported yet. Two routes with the same rule have the same name,
// which is reported once.
func unread(result *translation.Result, kind dynamic.Kind, name string) {
	ref := dynamic.Ref{Kind: kind, Name: name}
	if _, known := result.Objects[ref]; !known {
		result.Put(ref, nil)
		result.Quarantine(ref, dynamic.CodeUnsupportedKind, "is not supported yet", false)
	}
}
