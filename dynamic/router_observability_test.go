package dynamic

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/document"
)

func observed(port string) *Router {
	return &Router{Observability: &RouterObservability{Metadata: &ObservabilityMetadata{
		Ingress: &IngressMetadata{Namespace: "shop", IngressName: "front", ServiceName: "web", ServicePort: port},
	}}}
}

// The metadata of a router is shown with it, in the form of Traefik's API.
func TestMetadataIsShown(t *testing.T) {
	router, off := observed("http"), false
	router.Observability.AccessLogs = &off
	got, err := json.Marshal(Redacted(router))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"observability":{"accessLogs":false,` +
		`"metadata":{"ingress":{"namespace":"shop","ingressName":"front","serviceName":"web","servicePort":"http"}}}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if got, err = json.Marshal(&RouterObservability{TraceVerbosity: "detailed"}); err != nil ||
		string(got) != `{"traceVerbosity":"detailed"}` {
		t.Errorf("without metadata: %s, %v", got, err)
	}
}

// Neither files nor labels may claim that a router comes from an Ingress.
func TestMetadataCannotBeDeclared(t *testing.T) {
	const said = "{metadata: {ingress: {namespace: shop, ingressName: front}}}"
	node, err := document.Parse("a.yaml", []byte("rule: Path(`/`)\nobservability: "+said))
	if err != nil {
		t.Fatal(err)
	}
	router, problems := DecodeObject[Router](new(document.Decoder), node)
	if len(problems) != 1 || router.Observability == nil || router.Observability.Metadata != nil {
		t.Errorf("a file makes %+v with %v", router.Observability, problems)
	}
	var labels LabelDecoder
	got := labels.Decode(map[string]string{
		"traefik.http.routers.r.rule": "Path(`/`)", "traefik.http.routers.r.observability.metadata.ingress.namespace": "shop",
	})
	if len(got.Configuration.Verdicts) != 1 {
		t.Errorf("a label makes %+v with %v", got.Configuration.HTTP, got.Configuration.Verdicts)
	}
	for name, router := range got.Configuration.HTTP.Routers.All() {
		if router.Observability != nil && router.Observability.Metadata != nil {
			t.Errorf("a label makes the router %s one of the %+v", name, router.Observability.Metadata.Ingress)
		}
	}
}

// A router whose port of a Service has another name now is another router: its requests are recorded otherwise.
func TestMetadataDistinguishesRouters(t *testing.T) {
	first, err := Fingerprint(observed("http"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := Fingerprint(observed("80"))
	if err != nil {
		t.Fatal(err)
	}
	if first == second || Equal(observed("http"), observed("80")) || !Equal(observed("80"), observed("80")) {
		t.Error("routers are not distinguished by their metadata")
	}
}
