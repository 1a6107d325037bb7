package status_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
)

// apiServer holds objects of the Gateway API by the path of their URL, with resourceVersions and merge patches. It is
// the watch of a Writer at the same time, which may lag behind.
type apiServer struct {
	t *testing.T

	mu       sync.Mutex
	version  int
	objects  map[string]map[string]any
	watched  map[string]*unstructured.Unstructured
	requests []string
	refused  map[string]int
	lagging  bool
	// onPatch is called before a patch of the status, without the lock.
	onPatch func(path string)
	// onChange is called after a change, without the lock.
	onChange func(key status.Key)
}

func newAPIServer(t *testing.T) *apiServer {
	return &apiServer{
		t: t, objects: map[string]map[string]any{}, watched: map[string]*unstructured.Unstructured{},
		refused: map[string]int{},
	}
}

// REST implements status.Clients.
func (s *apiServer) REST(version schema.GroupVersion) (rest.Interface, error) {
	return rest.RESTClientForConfigAndClient(&rest.Config{
		Host: "http://api.test", APIPath: "/apis", QPS: -1, ContentConfig: rest.ContentConfig{
			GroupVersion:         &version,
			NegotiatedSerializer: serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion(),
		},
	}, &http.Client{Transport: s})
}

// paths of the resources of the kinds.
var resources = map[status.Kind]string{
	status.Gateway: "gateways", status.HTTPRoute: "httproutes", status.GatewayClass: "gatewayclasses",
}

func path(key status.Key) string {
	if key.Namespace == "" {
		return "/" + resources[key.Kind] + "/" + key.Name
	}
	return "/namespaces/" + key.Namespace + "/" + resources[key.Kind] + "/" + key.Name
}

// put creates or replaces an object, as another client does.
func (s *apiServer) put(key status.Key, statusJSON string) {
	var content map[string]any
	object := `{"metadata":{"name":"` + key.Name + `","namespace":"` + key.Namespace + `","uid":"u1"},"status":` +
		statusJSON + `}`
	if err := json.Unmarshal([]byte(object), &content); err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.store(path(key), content)
	s.mu.Unlock()
	s.notify(key)
}

func (s *apiServer) store(path string, object map[string]any) {
	s.version++
	object["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(s.version)
	s.objects[path] = object
	if !s.lagging {
		s.watched[path] = &unstructured.Unstructured{Object: clone(object)}
	}
}

// catchUp shows the watch everything that is there.
func (s *apiServer) catchUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lagging = false
	for path, object := range s.objects {
		s.watched[path] = &unstructured.Unstructured{Object: clone(object)}
	}
}

func clone(object map[string]any) map[string]any {
	return (&unstructured.Unstructured{Object: object}).DeepCopy().Object
}

func (s *apiServer) notify(key status.Key) {
	if s.onChange != nil {
		s.onChange(key)
	}
}

// Object implements status.Objects.
func (s *apiServer) Object(key status.Key) (metav1.Object, string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, ok := s.watched[path(key)]
	return object, "v1", ok
}

// status returns the status of an object as JSON.
func (s *apiServer) status(key status.Key) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, err := json.Marshal(s.objects[path(key)]["status"])
	if err != nil {
		s.t.Fatal(err)
	}
	return string(content)
}

// count returns how many requests contain all of the texts.
func (s *apiServer) count(texts ...string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, request := range s.requests {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(request, text)
		}
		if all {
			n++
		}
	}
	return n
}

// RoundTrip answers a request without a socket, so that tests can run by a clock of their own.
func (s *apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	_, at, _ := strings.Cut(request.URL.Path, "/v1")
	at, isStatus := strings.CutSuffix(at, "/status")
	if isStatus && s.onPatch != nil {
		s.onPatch(at)
	}
	code, answer := s.answer(request, at, isStatus)
	if code == http.StatusOK && request.Method == http.MethodPatch {
		for kind, resource := range resources {
			if rest, ok := strings.CutPrefix(at, "/namespaces/shop/"+resource+"/"); ok {
				s.notify(key(kind, rest))
			}
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

func (s *apiServer) answer(request *http.Request, at string, isStatus bool) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request.Method+" "+request.URL.Path)
	if code := s.refused[request.Method]; code != 0 {
		return code, failure(code)
	}
	object, ok := s.objects[at]
	if !ok {
		return http.StatusNotFound, failure(http.StatusNotFound)
	}
	if request.Method == http.MethodGet {
		return http.StatusOK, clone(object)
	}
	var patch map[string]any
	if err := json.NewDecoder(request.Body).Decode(&patch); err != nil {
		s.t.Error(err)
	}
	metadata := object["metadata"].(map[string]any)
	changes, _ := patch["metadata"].(map[string]any)
	if changes["resourceVersion"] != metadata["resourceVersion"] {
		return http.StatusConflict, failure(http.StatusConflict)
	}
	changed := clone(object)
	if isStatus {
		before, _ := changed["status"].(map[string]any)
		if before == nil {
			before = map[string]any{}
		}
		maps.Copy(before, patch["status"].(map[string]any))
		changed["status"] = before
	} else {
		maps.Copy(changed["metadata"].(map[string]any), changes)
	}
	s.store(at, changed)
	return http.StatusOK, clone(changed)
}

func failure(code int) any {
	reasons := map[int]metav1.StatusReason{
		http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusConflict: metav1.StatusReasonConflict,
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	}
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reasons[code], Message: fmt.Sprint("code ", code),
	}
}
