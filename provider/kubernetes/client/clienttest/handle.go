package clienttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listRequest is one parsed request.
type listRequest struct {
	resource  schema.GroupVersionResource
	namespace string
	labels    labels.Selector
	fields    fields.Selector
	watch     bool
	initial   bool
	version   string
}

// handle answers one request.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	version, rest, ok := split(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	request, err := parseRequest(version, rest, r)
	if err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	verb := "list"
	switch {
	case request.resource.Resource == "":
		verb = "get"
	case request.watch:
		verb = "watch"
	}
	s.mu.Lock()
	s.requests = append(s.requests, verb+" "+r.URL.String())
	_, served := s.served[request.resource]
	refused := s.refused[permission{verb, request.resource.Resource}] ||
		s.refused[permission{verb, request.namespace + "/" + request.resource.Resource}]
	authentic := s.token == "" || r.Header.Get("Authorization") == "Bearer "+s.token
	unstreamed := request.watch && request.initial && s.noStream
	s.mu.Unlock()
	switch {
	case !authentic:
		fail(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "no")
	case verb == "get":
		s.discover(w, version)
	case refused:
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, verb+" is not allowed")
	case !served:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, "there is no such resource")
	case unstreamed:
		fail(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is forbidden")
	case request.watch:
		s.watch(w, r, request)
	default:
		s.list(w, request)
	}
}

// split finds group and version in a path.
func split(path string) (schema.GroupVersion, []string, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 2 && parts[0] == "api":
		return schema.GroupVersion{Version: parts[1]}, parts[2:], true
	case len(parts) >= 3 && parts[0] == "apis":
		return schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:], true
	}
	return schema.GroupVersion{}, nil, false
}

func parseRequest(version schema.GroupVersion, rest []string, r *http.Request) (listRequest, error) {
	query := r.URL.Query()
	request := listRequest{
		watch:   query.Get("watch") == "true" || query.Get("watch") == "1",
		initial: query.Get("sendInitialEvents") == "true",
		version: query.Get("resourceVersion"),
	}
	if len(rest) == 3 && rest[0] == "namespaces" {
		request.namespace, rest = rest[1], rest[2:]
	}
	if len(rest) > 1 {
		return request, fmt.Errorf("single objects are not served here")
	}
	if len(rest) == 1 {
		request.resource = version.WithResource(rest[0])
	}
	var err error
	if request.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return request, err
	}
	request.fields, err = fields.ParseSelector(query.Get("fieldSelector"))
	return request, err
}

// matches reports whether an object belongs to the answer.
func (q listRequest) matches(object *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(object.Object, "type")
	return (q.namespace == "" || object.GetNamespace() == q.namespace) &&
		q.labels.Matches(labels.Set(object.GetLabels())) &&
		q.fields.Matches(fields.Set{
			"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace(),
			"type": kind,
		})
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(status(code, reason, message))
}

func status(code int, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}
}

// discover says which resources of a version are served.
func (s *Server) discover(w http.ResponseWriter, version schema.GroupVersion) {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String(),
	}
	s.mu.Lock()
	for resource, kind := range s.served {
		if resource.GroupVersion() == version {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource.Resource, Kind: kind})
		}
	}
	s.mu.Unlock()
	if len(list.APIResources) == 0 {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, "there is no such version")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

// list answers with all objects.
func (s *Server) list(w http.ResponseWriter, request listRequest) {
	s.mu.Lock()
	items := []any{}
	for _, object := range s.objects[request.resource] {
		if request.matches(object) {
			items = append(items, object.Object)
		}
	}
	answer := map[string]any{
		"apiVersion": request.resource.GroupVersion().String(), "kind": s.served[request.resource] + "List",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items,
	}
	text, err := json.Marshal(answer)
	s.mu.Unlock()
	if err != nil {
		fail(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}
