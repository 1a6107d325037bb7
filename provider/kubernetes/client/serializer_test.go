package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestKindsOfCustomResources decodes objects whose type stands first, as API servers write them, and elsewhere.
func TestKindsOfCustomResources(t *testing.T) {
	const group = "traefik.io/v1alpha1"
	for name, body := range map[string]string{
		"type first":           `{"apiVersion":"` + group + `","kind":"Middleware","metadata":{"name":"m"}}`,
		"spaces":               `{ "apiVersion": "` + group + `", "kind": "Middleware", "metadata": {"name":"m"}}`,
		"kind first":           `{"kind":"Middleware","apiVersion":"` + group + `","metadata":{"name":"m"}}`,
		"metadata between":     `{"apiVersion":"` + group + `","metadata":{"name":"m"},"kind":"Middleware"}`,
		"escapes in the group": `{"apiVersion":"traefik.io\/v1alpha1","kind":"Middleware","metadata":{"name":"m"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			object, err := customResources(t, body).Get().Namespace("shop").Resource("middlewares").Name("m").
				Do(t.Context()).Get()
			if err != nil {
				t.Fatal(err)
			}
			if one, ok := object.(*v1alpha1.Middleware); !ok || one.Name != "m" {
				t.Errorf("%T %+v", object, object)
			}
		})
	}
}

// customResources connects to an API server that answers every request with a body.
func customResources(t *testing.T, body string) rest.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	cluster, err := client.Connect(client.Options{Endpoint: server.URL}, "kubernetes", telemetry.Discard{},
		v1alpha1.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	group, err := cluster.REST(v1alpha1.GroupVersion("traefik.io"))
	if err != nil {
		t.Fatal(err)
	}
	return group
}
