package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	"sigs.k8s.io/gateway-api/conformance"
	reportv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/flags"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// Addresses of Gateways: the pool, one of it that a test asks for, which is the last to be assigned, and one outside.
const (
	pool     = "198.18.240.0/24"
	usable   = "198.18.240.254"
	unusable = "192.0.2.1"
)

// Names of the class and its controller.
const (
	class      = "sluice"
	controller = "sluice.dev/gateway-controller"
)

// mode is the mode of operation in the report.
const mode = "default"

const classManifest = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: ` + class + `}
spec: {controllerName: ` + controller + `}
`

const static = `
entryPoints: {traefik: {address: "127.0.0.1:0"}}
ping: {}
log: {level: DEBUG}
providers:
  kubernetesGateway:
    endpoint: ${ENDPOINT}
    token: ${TOKEN}
    certAuthFilePath: ${CA}
    controllerName: ` + controller + `
    experimentalChannel: ${EXPERIMENTAL}
    exposure: pool
    addressPool: [` + pool + `]
`

// TestConformance runs all profiles with the features that the GatewayClass reports.
func TestConformance(t *testing.T) {
	c := cluster.Start(t)
	c.Apply(definitions(t)...)
	c.Apply(classManifest)
	start(t, c)
	conformance.RunConformanceWithOptions(t, options(t, c))
}

// start starts Sluice, and waits until the GatewayClass is accepted.
func start(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	s := harness.Start(t, harness.Setup{Static: static, Vars: map[string]string{
		"ENDPOINT": c.Endpoint, "TOKEN": c.Token, "CA": c.CAFile, "EXPERIMENTAL": fmt.Sprint(*channel == "experimental"),
	}})
	t.Cleanup(func() {
		if t.Failed() && *reports != "" {
			keep(t, "sluice.log", s.Log.String())
		}
	})
	c.Until("GatewayClass.gateway.networking.k8s.io", class, "accepted", func(object *unstructured.Unstructured) bool {
		features, _, _ := unstructured.NestedSlice(object.Object, "status", "supportedFeatures")
		return cluster.Condition(object, "Accepted") == "True" && len(features) > 0
	})
}

// options returns the options of the suite; flags override the defaults here.
func options(t *testing.T, c *cluster.Cluster) suite.ConformanceOptions {
	t.Helper()
	kinds := kinds(t)
	api, err := client.New(c.Config, client.Options{Scheme: kinds})
	if err != nil {
		t.Fatal(err)
	}
	kind := gatewayv1.IPAddressType
	o := suite.ConfigurableOptions{
		GatewayClassName: class, Mode: mode, TimeoutConfig: config.DefaultTimeoutConfig(),
		CleanupBaseResources: true, CleanupTestResources: true,
		ConformanceProfiles: []suite.ConformanceProfileName{
			suite.GatewayHTTPConformanceProfileName, suite.GatewayGRPCConformanceProfileName,
			suite.GatewayTLSConformanceProfileName, suite.GatewayTCPConformanceProfileName,
			suite.GatewayUDPConformanceProfileName,
		},
		UsableNetworkAddresses:   []gatewayv1.GatewaySpecAddress{{Type: &kind, Value: usable}},
		UnusableNetworkAddresses: []gatewayv1.GatewaySpecAddress{{Type: &kind, Value: unusable}},
		Implementation: reportv1.Implementation{
			Organization: "sluiceproxy", Project: "sluice", URL: "https://github.com/sluiceproxy/sluice",
			Contact: []string{"https://github.com/sluiceproxy/sluice/issues"},
			Version: version(t),
		},
	}
	flags.ApplyAll(&o)
	if *reports != "" && o.ReportOutputPath == "" {
		o.ReportOutputPath = filepath.Join(*reports,
			fmt.Sprintf("%s-%s-%s-report.yaml", *channel, o.Implementation.Version, o.Mode))
	}
	return suite.ConformanceOptions{
		ConfigurableOptions: o, Client: api, ClientOptions: client.Options{Scheme: kinds}, Clientset: c.Kubernetes,
		RestConfig: rest.CopyConfig(c.Config),
	}
}

// kinds returns the kinds that the tests use.
func kinds(t *testing.T) *runtime.Scheme {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensionsv1.AddToScheme, gatewayv1.Install, gatewayv1beta1.Install,
	} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	return kinds
}

var versionText = regexp.MustCompile(`(?m)^version: *(v?\d+\.\d+\.\d+[-+.\w]*)$`)

// version returns the version of the binary under test.
func version(t *testing.T) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), harness.Binary(t), "version").Output()
	if err != nil {
		t.Fatalf("sluice version: %v", err)
	}
	if found := versionText.FindSubmatch(output); found != nil {
		return string(found[1])
	}
	return "dev" // built from a work tree
}

// keep writes a file next to the report.
func keep(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(*reports, *channel+"-"+name), []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}
