package report

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/virtualenvironment"
)

// statusKind is a kind of objects with status conditions.
type statusKind struct {
	version  schema.GroupVersion
	resource string
	// references says that its objects refer to others, and have the condition ResolvedRefs.
	references bool
}

// statusKindOf returns the kind of an object with status conditions.
func statusKindOf(resource *dynamic.Resource) (kind statusKind, known bool) {
	if own := v1alpha1.GroupVersion(v1alpha1.GroupSluice); resource.APIVersion == own.String() {
		plural := pluralOf(resource.Kind)
		return statusKind{version: own, resource: plural, references: true}, plural != ""
	}
	version := virtualenvironment.GroupVersion()
	if resource.APIVersion == version.String() && resource.Kind == virtualenvironment.Kind {
		return statusKind{version: version, resource: virtualenvironment.Resource}, true
	}
	return statusKind{}, false
}

// pluralOf returns the resource of a kind of sluice.dev that has a status; empty for anything else.
func pluralOf(kind string) string {
	switch kind {
	case v1alpha1.KindIngressRoute:
		return v1alpha1.ResourceIngressRoutes
	case v1alpha1.KindMiddleware:
		return v1alpha1.ResourceMiddlewares
	case v1alpha1.KindTraefikService:
		return v1alpha1.ResourceTraefikServices
	case v1alpha1.KindServersTransport:
		return v1alpha1.ResourceServersTransports
	case v1alpha1.KindTLSOption:
		return v1alpha1.ResourceTLSOptions
	case v1alpha1.KindTLSStore:
		return v1alpha1.ResourceTLSStores
	case v1alpha1.KindIngressRouteTCP:
		return v1alpha1.ResourceIngressRouteTCPs
	case v1alpha1.KindIngressRouteUDP:
		return v1alpha1.ResourceIngressRouteUDPs
	case v1alpha1.KindMiddlewareTCP:
		return v1alpha1.ResourceMiddlewareTCPs
	case v1alpha1.KindServersTransportTCP:
		return v1alpha1.ResourceServersTransportTCPs
	}
	return ""
}

// statusOf returns the status of an object; nil for one of a kind without status conditions.
func statusOf(object metav1.Object) *v1alpha1.Status {
	switch typed := object.(type) {
	case *v1alpha1.IngressRoute:
		return &typed.Status
	case *v1alpha1.Middleware:
		return &typed.Status
	case *v1alpha1.TraefikService:
		return &typed.Status
	case *v1alpha1.ServersTransport:
		return &typed.Status
	case *v1alpha1.TLSOption:
		return &typed.Status
	case *v1alpha1.TLSStore:
		return &typed.Status
	case *v1alpha1.IngressRouteTCP:
		return &typed.Status
	case *v1alpha1.IngressRouteUDP:
		return &typed.Status
	case *v1alpha1.MiddlewareTCP:
		return &typed.Status
	case *v1alpha1.ServersTransportTCP:
		return &typed.Status
	case *virtualenvironment.VirtualEnvironment:
		return &typed.Status
	}
	return nil
}

// lacksStatus reports whether the definition of a kind has no status, as that of KT-env. A definition may be replaced,
// so that the API server is asked again from time to time.
func (s *status) lacksStatus(ctx context.Context, kind statusKind, now time.Time) bool {
	again, lacks := s.lacking[kind.resource]
	if !lacks || now.Before(again) {
		return lacks
	}
	if s.serves(ctx, kind) {
		delete(s.lacking, kind.resource)
		return false
	}
	s.lacking[kind.resource] = now.Add(pauseAfterRefusal)
	return true
}

// notFound finds out why a status is not found: the object is gone, or its definition has no status.
func (s *status) notFound(ctx context.Context, kind statusKind, now time.Time) {
	if s.serves(ctx, kind) {
		return
	}
	s.lacking[kind.resource] = now.Add(pauseAfterRefusal)
	s.options.Logger.Debug("no status is written, since the definition has no subresource status",
		"resource", kind.resource+"."+kind.version.Group)
}

// serves reports whether the API server serves the status of a kind, or does not say.
func (s *status) serves(ctx context.Context, kind statusKind) bool {
	client, err := s.options.Clients.REST(kind.version)
	if err != nil {
		return true
	}
	body, err := client.Get().AbsPath("/apis/"+kind.version.String()).SetHeader("Accept", runtime.ContentTypeJSON).
		Timeout(requestTimeout).MaxRetries(0).DoRaw(ctx)
	if err != nil {
		return true
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return true
	}
	return slices.ContainsFunc(list.APIResources, func(one metav1.APIResource) bool {
		return one.Name == kind.resource+"/status"
	})
}
