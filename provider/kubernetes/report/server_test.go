package report

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// apiServer is as much of an API server as a Reporter needs: objects by path, resourceVersions, merge patches. It
// answers without a socket, so that tests can run by a clock of their own.
type apiServer struct {
	t      testing.TB
	scheme *runtime.Scheme

	mu       sync.Mutex
	version  int
	objects  map[string]map[string]any
	refused  map[string]bool
	requests []string
}

func newAPIServer(t testing.TB) *apiServer {
	t.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, register := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, networkingv1.AddToScheme, coordinationv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := register(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return &apiServer{t: t, scheme: scheme, objects: map[string]map[string]any{}, refused: map[string]bool{}}
}

// REST implements Clients.
func (s *apiServer) REST(version schema.GroupVersion) (rest.Interface, error) {
	return s.connect(version, s)
}

// connect returns a client that speaks through a transport.
func (s *apiServer) connect(version schema.GroupVersion, through http.RoundTripper) (rest.Interface, error) {
	config := &rest.Config{Host: "http://api.test", APIPath: "/apis", QPS: -1}
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.GroupVersion = &version
	config.NegotiatedSerializer = serializer.NewCodecFactory(s.scheme).WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, &http.Client{Transport: through})
}

// RoundTrip answers a request.
func (s *apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	if request.Body == nil {
		request.Body = http.NoBody
	}
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

// refuse has requests for a verb on a resource (with /status for the subresource) answered with 403, or no longer.
func (s *apiServer) refuse(what string, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[what] = refused
}

// put stores an object under its path, as another client would, and returns its resourceVersion.
func (s *apiServer) put(path string, object map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store(path, object)
}

func (s *apiServer) store(path string, object map[string]any) string {
	s.version++
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = strconv.Itoa(s.version)
	object["metadata"] = metadata
	s.objects[path] = object
	return strconv.Itoa(s.version)
}

// seen returns how many requests began with a prefix: "VERB /path".
func (s *apiServer) seen(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, request := range s.requests {
		if strings.HasPrefix(request, prefix) {
			count++
		}
	}
	return count
}

// events returns the Events that are stored, by name of the object that they are about and then by reason.
func (s *apiServer) events() []corev1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []corev1.Event
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.Contains(path, "/events/") {
			var event corev1.Event
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.objects[path], &event); err != nil {
				s.t.Error(err)
			}
			found = append(found, event)
		}
	}
	slices.SortFunc(found, func(a, b corev1.Event) int {
		return strings.Compare(a.InvolvedObject.Name+" "+a.Reason, b.InvolvedObject.Name+" "+b.Reason)
	})
	return found
}

// ServeHTTP answers a request.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	path, subresource := strings.CutSuffix(r.URL.Path, "/status")
	segments := strings.Split(path, "/")
	resource := segments[slices.Index(segments, "namespaces")+2]
	if subresource {
		resource += "/status"
	}
	if s.refused[r.Method+" "+resource] {
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	switch known := s.objects[path]; r.Method {
	case http.MethodPost:
		object := s.decode(r, body)
		path += "/" + object["metadata"].(map[string]any)["name"].(string)
		if s.objects[path] != nil {
			fail(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
			return
		}
		s.answer(w, path, object)
	case http.MethodGet:
		if known == nil {
			fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		writeJSON(w, http.StatusOK, known)
	default:
		s.change(w, r, path, body)
	}
}

// change answers a PUT or a PATCH.
func (s *apiServer) change(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	known := s.objects[path]
	if known == nil {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	object := s.decode(r, body)
	metadata, _ := object["metadata"].(map[string]any)
	if version, given := metadata["resourceVersion"]; given &&
		version != known["metadata"].(map[string]any)["resourceVersion"] {
		fail(w, http.StatusConflict, metav1.StatusReasonConflict)
		return
	}
	if r.Method == http.MethodPatch {
		object = merged(known, object)
	}
	s.answer(w, path, object)
}

func (s *apiServer) answer(w http.ResponseWriter, path string, object map[string]any) {
	s.store(path, object)
	writeJSON(w, http.StatusOK, object)
}

// decode reads a body, in JSON or protobuf.
func (s *apiServer) decode(r *http.Request, body []byte) map[string]any {
	var object map[string]any
	if r.Header.Get("Content-Type") == runtime.ContentTypeProtobuf {
		typed, _, err := serializer.NewCodecFactory(s.scheme).UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			s.t.Error(err)
			return map[string]any{}
		}
		if body, err = json.Marshal(typed); err != nil {
			s.t.Error(err)
		}
	}
	if err := json.Unmarshal(body, &object); err != nil {
		s.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	return object
}

// merged applies a merge patch (RFC 7396) to a copy.
func merged(target, patch map[string]any) map[string]any {
	result := maps.Clone(target)
	if result == nil {
		result = map[string]any{}
	}
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(result, key)
		case isMap:
			below, _ := result[key].(map[string]any)
			result[key] = merged(below, inner)
		default:
			result[key] = value
		}
	}
	return result
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func fail(w http.ResponseWriter, status int, reason metav1.StatusReason) {
	writeJSON(w, status, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: reason, Code: int32(status), Message: string(reason),
	})
}

// cutOff is a connection to an API server that can be cut.
type cutOff struct {
	*apiServer
	mu  sync.Mutex
	cut bool
}

func (c *cutOff) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

// REST implements Clients.
func (c *cutOff) REST(version schema.GroupVersion) (rest.Interface, error) {
	return c.connect(version, c)
}

// RoundTrip fails while the connection is cut.
func (c *cutOff) RoundTrip(request *http.Request) (*http.Response, error) {
	c.mu.Lock()
	cut := c.cut
	c.mu.Unlock()
	if cut {
		return nil, errors.New("no route to host")
	}
	return c.apiServer.RoundTrip(request)
}
