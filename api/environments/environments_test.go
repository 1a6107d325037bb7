package environments_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api/environments"
	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// served is the table of some services.
func served(t *testing.T, services map[string]*dynamic.Service) *router.Table {
	t.Helper()
	entryPoints := []router.EntryPoint{{Name: "web", Port: 80, Default: true, Policy: canonical.DefaultPolicy()}}
	target := router.NewActiveTable(entryPoints)
	changed := make([]dynamic.Ref, 0, len(services))
	for name := range services {
		changed = append(changed, dynamic.Ref{Kind: dynamic.KindService, Name: name})
	}
	router.NewCompiler(router.Options{EntryPoints: entryPoints}, target).Compile(router.Input{
		Configuration: &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{Services: immutable.Of(services)}},
		Changed:       changed, Final: true,
	}).Activate(1)
	return target.Table()
}

// balanced is a service with one server.
func balanced() *dynamic.Service {
	balancer := &dynamic.ServersLoadBalancer{}
	balancer.SetDefaults()
	balancer.Servers = []dynamic.Server{{URL: "http://192.0.2.1:80/"}}
	return &dynamic.Service{LoadBalancer: balancer}
}

// divided is an environment service with the default tag dev.
func divided(tags ...string) *dynamic.Service {
	config := &dynamic.Environment{}
	config.SetDefaults()
	config.Default = "dev"
	for _, tag := range tags {
		config.Subsets = append(config.Subsets, dynamic.EnvironmentSubset{Tag: tag, Service: "pods"})
	}
	return &dynamic.Service{Environment: config}
}

// part is the handler of a table.
func part(table *router.Table) http.Handler {
	root := mux.NewRouter()
	environments.New(environments.Options{
		Table: func() *router.Table { return table }, Logger: telemetry.Discard{},
		Origin: func(ref dynamic.Ref) dynamic.Origin {
			if ref != (dynamic.Ref{Kind: dynamic.KindService, Name: "shop@file"}) {
				return dynamic.Origin{}
			}
			return dynamic.Origin{File: "shop.yaml", Line: 7}
		},
	}).Mount(root, "/ops")
	return root
}

// get returns the answer to a query.
func get(t *testing.T, handler http.Handler, query string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ops/api/environments"+query,
		http.NoBody))
	return answer
}

// sample has two environment services.
func sample(t *testing.T) http.Handler {
	t.Helper()
	return part(served(t, map[string]*dynamic.Service{
		"pods@file": balanced(), "shop@file": divided("dev", "dev.a"), "orders@file": divided("dev", "b"),
	}))
}

// TestAService wants every field by its name.
func TestAService(t *testing.T) {
	t.Parallel()
	const subset = `"service":"pods@file","selectable":true,"up":true,"serving":1,"endpoints":1}`
	want := `{"tags":["b","dev","dev.a"],"services":[{"name":"shop@file","header":"X-Virtual-Env","splitter":".",` +
		`"default":"dev","fallback":"default","exists":"pods","strict":false,"subsets":[{"tag":"dev",` + subset +
		`,{"tag":"dev.a",` + subset + `],"answers":[{"tag":"dev.a.x","reason":"ancestor","subset":"dev.a",` +
		`"service":"pods@file","up":true,"serving":1,"endpoints":1}],"origin":"shop.yaml:7"}]}` + "\n"
	answer := get(t, sample(t), "?service=shop@file&tag=dev.a.x")
	if diff := cmp.Diff(want, answer.Body.String()); diff != "" || answer.Code != http.StatusOK {
		t.Errorf("status %d, the answer (-want +got):\n%s", answer.Code, diff)
	}
}

func TestFiltersAndPages(t *testing.T) {
	t.Parallel()
	handler := sample(t)
	many := "?tag=" + strings.Repeat("x&tag=", environments.MaxRequested)
	for query, want := range map[string]string{
		"":                              "orders@file shop@file of 2",
		"?search=SHO":                   "shop@file of 1",
		"?service=shop":                 " of 0",
		"?service=orders@file":          "orders@file of 1",
		"?per_page=1&page=2":            "shop@file of 2",
		"?per_page=1&page=3":            "invalid request: page: 3, per_page: 1",
		"?page=0":                       "invalid request: page is not a number of at least 1",
		"?tag=%zz":                      `query: invalid URL escape "%zz"`,
		many:                            "query: 101 tags, at most 100 are allowed",
		"?service=shop@file&tag=b&tag=": "shop@file b:default :default of 1",
		"?tag=b&service=orders@file":    "orders@file b:exact of 1",
	} {
		answer := get(t, handler, query)
		var decoded struct {
			environments.List
			Message string
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &decoded); err != nil {
			t.Fatal(err)
		}
		words := []string{}
		for _, service := range decoded.Services {
			words = append(words, service.Name)
			for _, one := range service.Answers {
				words = append(words, fmt.Sprintf("%s:%s", one.Tag, one.Reason))
			}
		}
		got := strings.Join(words, " ") + " of " + answer.Header().Get("X-Total-Count")
		if answer.Code == http.StatusBadRequest {
			got = decoded.Message
		}
		if got != want {
			t.Errorf("%.60s: %s, want %s", query, got, want)
		}
	}
}

// TestTagsAreBounded has more tags than an answer may have.
func TestTagsAreBounded(t *testing.T) {
	t.Parallel()
	tags := make([]string, environments.MaxTags+7)
	for i := range tags {
		tags[i] = fmt.Sprintf("t%04d", i)
	}
	handler := part(served(t, map[string]*dynamic.Service{
		"pods@file": balanced(), "shop@file": divided(tags[:600]...), "orders@file": divided(tags[600:]...),
	}))
	var list environments.List
	if err := json.Unmarshal(get(t, handler, "?search=nothing").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Tags) != environments.MaxTags || list.MoreTags != 7 || list.Tags[0] != "t0000" || list.Services == nil {
		t.Errorf("%d tags, %d more, services %v", len(list.Tags), list.MoreTags, list.Services)
	}
}

// TestAnswersFitTheDocument compares answers with the OpenAPI document.
func TestAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	responses := loaded.Paths.Find("/api/environments").Get.Responses
	for query, status := range map[string]int{
		"": 200, "?tag=x&tag=": 200, "?tag=none&service=rejecting@file": 200, "?page=0": 400,
	} {
		anyOf, rejecting := divided("dev"), divided("dev")
		anyOf.Environment.Fallback, anyOf.Environment.Service = dynamic.FallbackAny, "pods"
		rejecting.Environment.Fallback = dynamic.FallbackReject
		answer := get(t, part(served(t, map[string]*dynamic.Service{
			"pods@file": balanced(), "any@file": anyOf, "rejecting@file": rejecting,
		})), query)
		var value any
		if err := json.Unmarshal(answer.Body.Bytes(), &value); err != nil || answer.Code != status {
			t.Fatalf("%s: status %d, %v", query, answer.Code, err)
		}
		schema := responses.Status(status).Value.Content.Get("application/json").Schema.Value
		if err := schema.VisitJSON(value); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}
