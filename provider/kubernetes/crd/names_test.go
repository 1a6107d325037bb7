package crd

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestNames holds names that Traefik gives, which dashboards and alerts know.
func TestNames(t *testing.T) {
	tests := map[string]string{
		routerName("default", "test.route", "Host(`foo.com`) && PathPrefix(`/bar`)"): "default-test-route-6b204d94623b3df4370c",
		routerName("default", "test.route", "Host(`foo.com`) && PathPrefix(`/foo`)"): "default-test-route-77c62dfe9517144aeeaa",
		childName("default", "whoami", intstr.FromInt32(80)):                         "default-whoami-80",
		childName("default", "whoami2", intstr.FromString("web-port")):               "default-whoami2-web-port",
		objectName("default", "my.middleware"):                                       "default-my-middleware",
		errorServiceName("default", "errorpage"):                                     "default-errorpage-errorpage-service",
		tlsName("default", "mtls"):                                                   "default-mtls",
		tlsName("default", "default"):                                                "default",
		normalize("--a..b/c--"):                                                      "a-b-c",
		normalize("ü1"):                                                              "ü1",
	}
	for got, want := range tests {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
