package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Server answers requests of a client from objects. It is safe for concurrent use.
type Server struct {
	objects map[schema.GroupVersionResource][]Object
	kinds   map[schema.GroupVersionResource]string
	places  map[place]Object // the first object of a kind and name
}

// place is what an origin knows of an object.
type place struct{ kind, namespace, name string }

// NewServer returns a server of objects.
func NewServer(objects []Object) *Server {
	s := &Server{
		objects: map[schema.GroupVersionResource][]Object{}, places: map[place]Object{},
		kinds: map[schema.GroupVersionResource]string{
			{Version: "v1", Resource: "services"}:                                   "Service",
			{Version: "v1", Resource: "secrets"}:                                    "Secret",
			{Version: "v1", Resource: "configmaps"}:                                 "ConfigMap",
			{Version: "v1", Resource: "nodes"}:                                      "Node",
			{Version: "v1", Resource: "endpoints"}:                                  "Endpoints",
			{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}:  "EndpointSlice",
			{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}:      "Ingress",
			{Group: "networking.k8s.io", Version: "v1", Resource: "ingressclasses"}: "IngressClass",
		},
	}
	for _, object := range objects {
		resource := object.GroupVersionKind().GroupVersion().WithResource(plural(object.GetKind()))
		s.objects[resource] = append(s.objects[resource], object)
		s.kinds[resource] = object.GetKind()
		at := place{object.GetKind(), object.GetNamespace(), object.GetName()}
		if _, known := s.places[at]; !known {
			s.places[at] = object
		}
	}
	if s.HasGateways() {
		s.serveGateways()
	}
	return s
}

// plural returns the resource of a kind.
func plural(kind string) string {
	name := strings.ToLower(kind)
	if strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "endpoints") {
		return name + "es"
	}
	if strings.HasSuffix(name, "s") {
		return name
	}
	if stem, ok := strings.CutSuffix(name, "cy"); ok {
		return stem + "cies"
	}
	return name + "s"
}

// Find returns the file and the line of an object; "" when it is none of the manifests'.
func (s *Server) Find(resource *dynamic.Resource) (file string, line int) {
	if resource == nil {
		return "", 0
	}
	found := s.places[place{resource.Kind, resource.Namespace, resource.Name}]
	return found.File, found.Line
}

// Has reports whether there is an object of a kind in a namespace.
func (s *Server) Has(kind, namespace string) bool {
	for at := range s.places {
		if at.kind == kind && at.namespace == namespace {
			return true
		}
	}
	return false
}

// RoundTrip answers one request.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	version, rest := versionOf(r.URL.Path)
	namespace := ""
	if len(rest) == 3 && rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	query := r.URL.Query()
	switch {
	case r.Method != http.MethodGet || len(rest) > 1:
		return refuse(r, http.StatusForbidden, metav1.StatusReasonForbidden), nil
	case len(rest) == 0:
		return answer(r, http.StatusOK, s.discover(version)), nil
	case query.Get("sendInitialEvents") == "true": // Clients list instead.
		return refuse(r, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		return respond(r, http.StatusOK, quiet{r.Context()}), nil
	}
	resource := version.WithResource(rest[0])
	if s.kinds[resource] == "" {
		return refuse(r, http.StatusNotFound, metav1.StatusReasonNotFound), nil
	}
	selector, err := selectorOf(query.Get("labelSelector"), query.Get("fieldSelector"), namespace)
	if err != nil {
		return refuse(r, http.StatusBadRequest, metav1.StatusReasonBadRequest), nil //nolint:nilerr // The response has it.
	}
	items := []any{}
	for _, object := range s.objects[resource] {
		if selector.matches(object) {
			items = append(items, object.Object)
		}
	}
	return answer(r, http.StatusOK, map[string]any{
		"apiVersion": version.String(), "kind": s.kinds[resource] + "List",
		"metadata": map[string]any{"resourceVersion": "1"}, "items": items,
	}), nil
}

// versionOf takes the path of a request apart.
func versionOf(path string) (schema.GroupVersion, []string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 2 && parts[0] == "api":
		return schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) >= 3 && parts[0] == "apis":
		return schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	}
	return schema.GroupVersion{}, nil
}

// discover lists the resources of a version.
func (s *Server) discover(version schema.GroupVersion) metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String(),
		APIResources: []metav1.APIResource{},
	}
	for resource, kind := range s.kinds {
		if resource.GroupVersion() == version {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: resource.Resource, Kind: kind, Namespaced: !clusterScoped(kind),
			})
		}
	}
	return list
}

// selector says which objects a list holds.
type selector struct {
	labels    labels.Selector
	fields    fields.Selector
	namespace string
}

func selectorOf(byLabel, byField, namespace string) (selector, error) {
	wanted, err := labels.Parse(byLabel)
	if err != nil {
		return selector{}, err
	}
	field, err := fields.ParseSelector(byField)
	return selector{wanted, field, namespace}, err
}

func (s selector) matches(object Object) bool {
	kind, _ := object.Object["type"].(string)
	return (s.namespace == "" || object.GetNamespace() == s.namespace) &&
		s.labels.Matches(labels.Set(object.GetLabels())) &&
		s.fields.Matches(fields.Set{
			"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace(), "type": kind,
		})
}

func refuse(r *http.Request, code int, reason metav1.StatusReason) *http.Response {
	return answer(r, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: string(reason), //nolint:gosec // It is a status code.
	})
}

func answer(r *http.Request, code int, content any) *http.Response {
	text, err := json.Marshal(content)
	if err != nil {
		return respond(r, http.StatusInternalServerError, io.NopCloser(strings.NewReader(err.Error())))
	}
	return respond(r, code, io.NopCloser(bytes.NewReader(text)))
}

func respond(r *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, ContentLength: -1,
	}
}

// quiet is the body of a watch on which nothing happens until the request ends.
type quiet struct{ ctx context.Context } //nolint:containedctx // A body has no other way to learn of the end.

// Read waits for the end of the request.
func (q quiet) Read([]byte) (int, error) {
	<-q.ctx.Done()
	return 0, io.EOF
}

// Close does nothing.
func (q quiet) Close() error { return nil }
