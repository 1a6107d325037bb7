package manifest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
)

const documents = `# a comment
---
apiVersion: v1
kind: Service
metadata: {name: shop}
---
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Secret
    metadata: {name: key, namespace: prod, labels: {a: b}}
    type: Opaque
    stringData: {word: secret}
  - apiVersion: networking.k8s.io/v1
    kind: IngressClass
    metadata: {name: sluice}
`

func read(t *testing.T) *manifest.Server {
	t.Helper()
	objects, faults := manifest.Read("all.yaml", []byte(documents))
	if len(faults) != 0 || len(objects) != 3 {
		t.Fatalf("%d objects, %v", len(objects), faults)
	}
	return manifest.NewServer(objects)
}

// names requests a path and returns the names of the items, and the status.
func names(t *testing.T, server *manifest.Server, path string) (found []string, status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://manifests"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name, Namespace string }
			Data     map[string]string
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, item := range list.Items {
		found = append(found, item.Metadata.Namespace+"/"+item.Metadata.Name+item.Data["word"])
	}
	return found, response.StatusCode
}

func TestObjectsAreListed(t *testing.T) {
	server := read(t)
	for path, want := range map[string]string{
		"/api/v1/services":                                         "default/shop",
		"/api/v1/namespaces/prod/services":                         "",
		"/api/v1/namespaces/prod/secrets":                          "prod/keyc2VjcmV0",
		"/api/v1/secrets?labelSelector=a%3Db":                      "prod/keyc2VjcmV0",
		"/api/v1/secrets?labelSelector=a%3Dc":                      "",
		"/api/v1/secrets?fieldSelector=type%3Dkubernetes.io%2Ftls": "",
		"/apis/networking.k8s.io/v1/ingressclasses":                "/sluice",
		"/apis/discovery.k8s.io/v1/endpointslices":                 "",
	} {
		if got, status := names(t, server, path); strings.Join(got, " ") != want || status != http.StatusOK {
			t.Errorf("%s: %d %q, want %q", path, status, got, want)
		}
	}
	for path, want := range map[string]int{
		"/apis/traefik.io/v1alpha1/ingressroutes":         http.StatusNotFound,
		"/api/v1/services?watch=1&sendInitialEvents=true": http.StatusUnprocessableEntity,
		"/api/v1/namespaces/prod/secrets/key":             http.StatusForbidden,
		"/api/v1/services?labelSelector=%3D%3D":           http.StatusBadRequest,
	} {
		if _, status := names(t, server, path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
}

func TestObjectsHaveAPlace(t *testing.T) {
	server := read(t)
	for name, want := range map[string]int{"shop": 3, "absent": 0} {
		file, line := server.Find(&dynamic.Resource{Kind: "Service", Namespace: "default", Name: name})
		if line != want || (file == "all.yaml") != (want > 0) {
			t.Errorf("%s is at %s:%d, want line %d", name, file, line, want)
		}
	}
}

func TestWhatIsNoManifest(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: Service\n---\nfoo: bar\n": "x.yaml:4: the document has no apiVersion or no kind",
		"a: b: c\n": "x.yaml:1: ",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: \"80\"}]}\n": "x.yaml:1: Service a: " +
			"spec.ports.port: a string is not allowed here",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\ndata: {x: 1}\n": "x.yaml:1: Secret b/a: data",
		"apiVersion: traefik.io/v1alpha1\nkind: Middleware\nmetadata: hello\n":            "x.yaml:1: Middleware: metadata: ",
	} {
		const fine = "---\napiVersion: v1\nkind: Service\nmetadata: {name: fine}\n"
		objects, faults := manifest.Read("x.yaml", []byte(text+fine))
		if len(faults) != 1 || !strings.HasPrefix(faults[0].String(), want) {
			t.Errorf("%q: %v, want %s", text, faults, want)
		}
		if len(objects) == 0 || objects[len(objects)-1].GetName() != "fine" {
			t.Errorf("%q: %d objects, want that of the other document among them", text, len(objects))
		}
	}
	if manifest.IsManifest([]byte("http:\n  routers: {}\n")) || !manifest.IsManifest([]byte(documents)) {
		t.Error("manifests are not recognised")
	}
}

// FuzzRead proves that no text is more than an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(documents))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [1, {kind: Secret, stringData: 1, data: []}]\n"))
	f.Add([]byte("apiVersion: v1\nkind: Secret\nmetadata: []\nstringData: {a: b}\ndata: 1\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		objects, _ := manifest.Read("x.yaml", data)
		manifest.NewServer(objects)
	})
}

// TestUnknownFields reads an object with fields that its kind does not have, alone and in a list.
func TestUnknownFields(t *testing.T) {
	const route = `apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: a, namespace: b, annotations: {x/y: z}, managedFields: [{fieldsV1: {"f:a": {}}}]}
spec:
  entrypoints: [web]
  routes:
    - match: Host(` + "`a.test`" + `)
      services: [{name: a, port: 80, strtegy: wrr}]
      entirelyElse: 1
status: {unknown: 1}
`
	list := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(route), "\n", "\n  ") + "\n"
	want := []string{
		`IngressRoute b/a: spec.entrypoints: unknown option, did you mean "entryPoints"?`,
		`IngressRoute b/a: spec.routes[0].services[0].strtegy: unknown option, did you mean "strategy"?`,
		`IngressRoute b/a: spec.routes[0].entirelyElse: unknown option`,
	}
	for text, lines := range map[string][]string{
		"---\n" + route: {"6", "9", "10"},
		list:            {"8", "11", "12"},
	} {
		objects, faults := manifest.Read("a.yaml", []byte(text))
		if len(objects) != 1 || len(faults) != len(want) {
			t.Fatalf("%d objects, %v", len(objects), faults)
		}
		for i, fault := range faults {
			if !fault.Ignored || fault.String() != "a.yaml:"+lines[i]+": "+want[i] {
				t.Errorf("got %s (%t), want line %s: %s", fault, fault.Ignored, lines[i], want[i])
			}
		}
	}
	server := read(t)
	if !server.Has("Secret", "prod") || server.Has("Secret", "default") || server.Has("Service", "prod") {
		t.Error("a server does not have the kinds of its namespaces")
	}
}
