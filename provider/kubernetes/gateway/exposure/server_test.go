package exposure_test

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// watch is a resource that tests change.
type watch[T metav1.Object] struct {
	mu       sync.Mutex
	objects  map[string]T
	handlers []func(before, after T)
}

func newWatch[T metav1.Object]() *watch[T] { return &watch[T]{objects: map[string]T{}} }

// All implements exposure.Watch.
func (w *watch[T]) All() iter.Seq[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Values(slices.Collect(maps.Values(w.objects)))
}

// Notify implements exposure.Watch.
func (w *watch[T]) Notify(handle func(before, after T)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handlers = append(w.handlers, handle)
}

func (w *watch[T]) put(object T) {
	w.mu.Lock()
	w.objects[object.GetNamespace()+"/"+object.GetName()] = object
	handlers := w.handlers
	w.mu.Unlock()
	for _, handle := range handlers {
		handle(object, object)
	}
}

func (w *watch[T]) drop(name string) {
	w.mu.Lock()
	delete(w.objects, name)
	handlers := w.handlers
	w.mu.Unlock()
	var none T
	for _, handle := range handlers {
		handle(none, none)
	}
}

func (w *watch[T]) get(name string) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.objects[name]
}

func (w *watch[T]) names() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.objects))
}

// apiServer takes Services and EndpointSlices as they are applied, and shows the Services to the watch.
type apiServer struct {
	t        *testing.T
	services *watch[*corev1.Service]
	pods     *watch[*corev1.Pod]

	mu       sync.Mutex
	slices   map[string]*discoveryv1.EndpointSlice
	others   map[string]any
	requests []string
	refuse   func(service *corev1.Service) (code int)
	uids     int
}

func newAPIServer(t *testing.T) *apiServer {
	return &apiServer{
		t: t, services: newWatch[*corev1.Service](), pods: newWatch[*corev1.Pod](),
		slices: map[string]*discoveryv1.EndpointSlice{}, others: map[string]any{},
	}
}

// REST implements exposure.Clients.
func (s *apiServer) REST(version schema.GroupVersion) (rest.Interface, error) {
	config := &rest.Config{Host: "http://api.test", APIPath: "/apis", QPS: -1}
	if version.Group == "" {
		config.APIPath = "/api"
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.GroupVersion = &version
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, &http.Client{Transport: s})
}

// RoundTrip answers a request without a socket.
func (s *apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	code, answer := s.answer(request)
	if code != http.StatusOK {
		reason := map[int]metav1.StatusReason{
			http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusForbidden: metav1.StatusReasonForbidden,
			http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
		}[code]
		answer = metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Code: int32(code), Reason: reason, Message: fmt.Sprint("code ", code),
		}
	}
	content, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(content))), Request: request,
	}, nil
}

func (s *apiServer) answer(request *http.Request) (int, any) {
	parts := strings.Split(request.URL.Path, "/")
	resource, name := parts[len(parts)-2], parts[len(parts)-1]
	s.mu.Lock()
	s.requests = append(s.requests, request.Method+" "+request.URL.Path)
	s.mu.Unlock()
	switch {
	case request.Method == http.MethodGet:
		s.mu.Lock()
		defer s.mu.Unlock()
		if object, ok := s.others[name]; ok {
			return http.StatusOK, object
		}
		return http.StatusNotFound, nil
	case request.Method == http.MethodDelete:
		s.services.drop(parts[len(parts)-3] + "/" + name)
		return http.StatusOK, metav1.Status{Status: metav1.StatusSuccess}
	case resource == "endpointslices":
		var slice discoveryv1.EndpointSlice
		s.decode(request, &slice)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.slices[slice.Namespace+"/"+slice.Name] = &slice
		return http.StatusOK, slice
	}
	var service corev1.Service
	s.decode(request, &service)
	if s.refuse != nil {
		if code := s.refuse(&service); code != 0 {
			return code, nil
		}
	}
	before := s.services.get(service.Namespace + "/" + service.Name)
	if before != nil {
		service.UID, service.Status = before.UID, before.Status
	} else {
		s.mu.Lock()
		s.uids++
		service.UID = types.UID(fmt.Sprint("service-", s.uids))
		s.mu.Unlock()
	}
	if service.Spec.ClusterIP == "" {
		service.Spec.ClusterIP = "10.0.0.1"
	}
	s.services.put(&service)
	return http.StatusOK, service
}

func (s *apiServer) decode(request *http.Request, into any) {
	if request.Header.Get("Content-Type") != string(types.ApplyPatchType) ||
		request.URL.Query().Get("fieldManager") != "sluice" {
		s.t.Errorf("%s %s (%v) is no apply", request.Method, request.URL, request.Header)
	}
	if err := json.NewDecoder(request.Body).Decode(into); err != nil {
		s.t.Error(err)
	}
}

// count returns how many requests contain a text.
func (s *apiServer) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, request := range s.requests {
		if strings.Contains(request, text) {
			n++
		}
	}
	return n
}
