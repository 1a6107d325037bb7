package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gorilla/mux"
)

// published returns the OpenAPI document.
func published(t *testing.T) *openapi3.T {
	t.Helper()
	loaded, err := openapi3.NewLoader().LoadFromData([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return loaded
}

// schemaOf returns what the document says of the JSON that a path answers with.
func schemaOf(t *testing.T, of *openapi3.T, path string, status int) *openapi3.Schema {
	t.Helper()
	item := of.Paths.Find(path)
	if item == nil || item.Get == nil {
		t.Fatalf("the document has no path %s", path)
	}
	response := item.Get.Responses.Status(status)
	if response == nil || response.Value.Content.Get("application/json") == nil {
		t.Fatalf("the document has no JSON for %s with status %d", path, status)
	}
	return response.Value.Content.Get("application/json").Schema.Value
}

// fits compares an answer with the document.
func fits(t *testing.T, schema *openapi3.Schema, body []byte) {
	t.Helper()
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatal(err)
	}
	if err := schema.VisitJSON(value); err != nil {
		t.Errorf("the document says otherwise: %v", err)
	}
}

func TestAnswersFitTheDocument(t *testing.T) {
	of := published(t)
	options := sampleOptions()
	options.Certificates = chain{issued(t)}.Certificates
	handler := New(options)
	targets := requests()
	targets["ready"] = "/api/ready"
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			path, _, _ := strings.Cut(target, "?")
			if steps := strings.Split(path, "/"); of.Paths.Value(path) == nil {
				path = strings.Join(append(steps[:len(steps)-1], "{id}"), "/")
			}
			fits(t, schemaOf(t, of, path, http.StatusOK), ask(t, handler, http.MethodGet, target).Body.Bytes())
			if strings.HasSuffix(path, "{id}") {
				answer := ask(t, handler, http.MethodGet, strings.Replace(path, "{id}", "none", 1))
				fits(t, schemaOf(t, of, path, http.StatusNotFound), answer.Body.Bytes())
			}
			if of.Paths.Value(path).Get.Parameters.GetByInAndName("query", "page") != nil {
				answer := ask(t, handler, http.MethodGet, path+"?page=0")
				fits(t, schemaOf(t, of, path, http.StatusBadRequest), answer.Body.Bytes())
			}
		})
	}
}

func TestTheDocumentIsAnswered(t *testing.T) {
	answer := ask(t, New(sampleOptions()), http.MethodGet, "/api/openapi.yaml")
	if answer.Body.String() != document || answer.Header().Get("Content-Type") != "application/yaml" {
		t.Errorf("answer = %s %.80s", answer.Header(), answer.Body)
	}
}

// TestTheDocumentHasEveryPath demands that a path that is mounted is in the document, and the other way round but for
// the paths of parts.
func TestTheDocumentHasEveryPath(t *testing.T) {
	parts := []string{
		"/api/endpoints", "/api/events", "/api/generations", "/api/generations/{id}", "/api/support-dump", "/api/traffic",
		"/api/traffic/routers",
		"/api/traffic/services", "/api/traffic/unmatched", "/api/requests", "/api/xds/clients", "/api/xds/resources",
		"/api/injector", "/api/environments", "/api/resolvers", "/api/admin/drains", "/api/admin/log",
		"/api/admin/connections/close",
	}
	aliases := []string{"/debug/pprof", "/debug/pprof/profile", "/debug/pprof/trace", "/debug/pprof/symbol"}
	h := &handler{options: sampleOptions()}
	root := mux.NewRouter()
	h.mountTable(root)
	h.mountObjects(root)
	h.mountProcess(root)
	mounted := map[string]bool{}
	if err := root.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		mounted[path] = true
		return err
	}); err != nil {
		t.Fatal(err)
	}
	documented := published(t).Paths.Map()
	for path := range mounted {
		if documented[path] == nil && !slices.Contains(aliases, path) {
			t.Errorf("the document lacks %s", path)
		}
	}
	for path := range maps.Keys(documented) {
		if !mounted[path] && !slices.Contains(parts, path) {
			t.Errorf("there is no handler of %s", path)
		}
	}
}
