package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
)

func TestKindsOfTheGatewayAPI(t *testing.T) {
	objects, faults := manifest.Read("all.yaml", []byte(`apiVersion: gateway.networking.k8s.io/v1beta1
kind: HTTPRoute
metadata: {name: web}
spec: {parentRef: [{name: main}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: secure}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: grant}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: wrong}
spec: {listeners: [{port: eighty}]}
`))
	if len(objects) != 3 || len(faults) != 2 {
		t.Fatalf("%d objects, faults %v", len(objects), faults)
	}
	for i, part := range []string{`spec.parentRef: unknown option, did you mean "parentRefs"?`, "a string is not allowed"} {
		if !strings.Contains(faults[i].String(), part) {
			t.Errorf("fault %s, want %s", faults[i], part)
		}
	}
	server := manifest.NewServer(objects)
	if !server.HasGateways() || read(t).HasGateways() {
		t.Error("objects of the Gateway API are not told from others")
	}
	for path, want := range map[string][]string{
		"v1/httproutes":           {"default/web"},
		"v1/backendtlspolicies":   {"default/secure"},
		"v1beta1/referencegrants": {"default/grant"},
		"v1/gateways":             nil, // Served, though there are none.
		"v1/gatewayclasses":       nil,
	} {
		found, status := names(t, server, "/apis/gateway.networking.k8s.io/"+path)
		if status != 200 || !slices.Equal(found, want) {
			t.Errorf("%s: %d %q, want %q", path, status, found, want)
		}
	}
}
