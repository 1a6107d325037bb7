package v1alpha1_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files anew")

// definition is what the tests read of a definition.
type definition struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Group, Scope string
		Names        struct{ Kind, ListKind, Plural, Singular string }
		Versions     []struct {
			Name                     string
			Served, Storage          bool
			Schema                   struct{ OpenAPIV3Schema object }
			Subresources             object
			AdditionalPrinterColumns []struct{ Name, JSONPath string }
		}
	}
}

// load reads the definition of a resource.
func load(t *testing.T, group, resource string) (definition, bool) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../../../deploy/crds", group, resource+".yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return definition{}, false
	}
	if err != nil {
		t.Fatal(err)
	}
	var loaded definition
	if err := yaml.Unmarshal(content, &loaded); err != nil {
		t.Fatal(err)
	}
	if len(loaded.Spec.Versions) != 1 {
		t.Fatalf("%s.%s: %d versions", resource, group, len(loaded.Spec.Versions))
	}
	return loaded, true
}

// TestDefinitions demands that each definition is one that an API server takes, of the kind and the group that the code
// requires, and that it has every field of the type.
func TestDefinitions(t *testing.T) {
	objects := filled(t)
	for _, group := range v1alpha1.Groups() {
		for resource, object := range objects {
			name := resource + "." + group
			loaded, there := load(t, group, resource)
			if lacks := group == v1alpha1.GroupContainous && resource == v1alpha1.ResourceServersTransportTCPs; there == lacks {
				t.Errorf("%s: there is one: %v", name, there)
			}
			if !there {
				continue
			}
			kind := reflect.TypeOf(object).Elem().Name()
			names := loaded.Spec.Names
			version := loaded.Spec.Versions[0]
			got := []string{
				loaded.APIVersion, loaded.Kind, loaded.Metadata.Name, loaded.Spec.Group, loaded.Spec.Scope,
				names.Kind, names.ListKind, names.Plural, names.Singular, version.Name,
			}
			want := []string{
				"apiextensions.k8s.io/v1", "CustomResourceDefinition", name, group, "Namespaced",
				kind, kind + "List", resource, strings.ToLower(kind), v1alpha1.Version,
			}
			if diff := cmp.Diff(want, got); diff != "" || !version.Served || !version.Storage {
				t.Errorf("%s: %s", name, diff)
			}
			findings := fieldFindings(t, group, loaded, object)
			if group != v1alpha1.GroupSluice {
				findings = withoutNative(t, name, findings, object)
			}
			tellAll(t, name, findings)
			if _, has := version.Subresources["status"]; has != (group == v1alpha1.GroupSluice) {
				t.Errorf("%s: has a status: %v", name, has)
			}
			for _, column := range version.AdditionalPrinterColumns {
				if group != v1alpha1.GroupSluice && strings.HasPrefix(column.JSONPath, ".status") {
					t.Errorf("%s: column %s", name, column.Name)
				}
			}
		}
	}
}

// fieldFindings returns what is wrong with a schema, and which fields of the type it lacks. A filled object
// does not have valid values everywhere.
func fieldFindings(t *testing.T, group string, loaded definition, filled any) []string {
	t.Helper()
	schema := loaded.Spec.Versions[0].Schema.OpenAPIV3Schema
	found := validation{}
	found.structural("", schema)
	var value object
	if err := json.Unmarshal([]byte(encoded(t, filled)), &value); err != nil {
		t.Fatal(err)
	}
	delete(value, "metadata")
	if group != v1alpha1.GroupSluice {
		delete(value, "status")
	}
	values := validation{}
	values.value("", schema, value)
	for _, finding := range values.findings {
		if strings.HasSuffix(finding, "is unknown") || strings.HasSuffix(finding, "is missing") || strings.Contains(finding,
			"expected") {
			found.findings = append(found.findings, finding)
		}
	}
	return found.findings
}

// withoutNative drops the findings about the options that only our group has, and demands one about each wherever there
// is a load balancer.
func withoutNative(t *testing.T, name string, findings []string, object any) []string {
	t.Helper()
	missing := map[string]bool{}
	native := map[string]bool{"rise": true, "fall": true, "jitter": true}
	for _, option := range []string{
		"mode", "secureByScheme", "conditionalSameSiteNone", "partitioned", "expires", "changeOnFailure", "readOnly",
	} {
		native[option] = true // of a sticky cookie
	}
	for _, option := range heads(reflect.TypeFor[v1alpha1.Balancing]()) {
		native[option] = true
	}
	findings = withoutNativeKinds(t, name, findings, object)
	rest := slices.DeleteFunc(findings, func(finding string) bool {
		path, unknown := strings.CutSuffix(finding, ": is unknown")
		option := path[strings.LastIndexByte(path, '.')+1:]
		missing[option] = unknown
		return unknown && native[option]
	})
	if strings.Contains(encoded(t, object), `"passiveHealthCheck"`) {
		for option := range native {
			if !missing[option] {
				t.Errorf("%s: has %s, which only the first group should", name, option)
			}
		}
	}
	return rest
}

// withoutNativeKinds removes the options of middlewares and services that only our group has, and demands that the
// schema lacks them all.
func withoutNativeKinds(t *testing.T, name string, findings []string, object any) []string {
	t.Helper()
	var native []string
	switch object.(type) {
	case *v1alpha1.Middleware:
		native = []string{
			"jwt", "bodyLimit", "timeout", "fault", "adaptiveConcurrency", "environment", "circuitBreaker.shared",
			"inFlightReq.shared", "rateLimit.shared",
			"proxySetHeader", "proxyRedirect", "proxyCookie", "buffering.requestOnly", "errors.requestHeaders",
			"errors.pageStatus", "errors.originalRequest", "errors.maxRequestBodyBytes", "errors.ownErrors",
			"errors.errorResponseHeaders",
		}
	case *v1alpha1.IngressRoute:
		native = []string{"routes[0].priorityClass", "routes[1].priorityClass"}
	case *v1alpha1.TraefikService:
		native = []string{"environment", "canary", "directResponse"}
	case *v1alpha1.ServersTransport:
		native = []string{"disableSNI", "verifyDepth"}
	case *v1alpha1.MiddlewareTCP:
		native = []string{"rateLimit"}
	case *v1alpha1.ServersTransportTCP:
		native = []string{"idleTimeout", "proxyProtocol.tlvs", "tls.disableSNI", "tls.verifyDepth"}
	case *v1alpha1.IngressRouteTCP:
		native = inServices(append(heads(reflect.TypeFor[v1alpha1.BalancingTCP]()), "proxyProtocol.tlvs"))
	case *v1alpha1.IngressRouteUDP:
		native = inServices(heads(reflect.TypeFor[v1alpha1.BalancingUDP]()))
	}
	for _, option := range native {
		at := slices.Index(findings, "spec."+option+": is unknown")
		if at < 0 {
			t.Errorf("%s: has %s, which only the first group should", name, option)
			continue
		}
		findings = slices.Delete(findings, at, at+1)
	}
	return findings
}

// heads returns the names of the options of a struct, without those below them.
func heads(of reflect.Type) []string {
	all, names := map[string]bool{}, map[string]bool{}
	options(all, "", of)
	for option := range all {
		head, _, _ := strings.Cut(option, ".")
		names[head] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// inServices returns the paths of options in each service of each route of an object that fillIn has filled.
func inServices(options []string) (paths []string) {
	for _, option := range options {
		for _, service := range []string{"[0].services[0].", "[0].services[1].", "[1].services[0].", "[1].services[1]."} {
			paths = append(paths, "routes"+service+option)
		}
	}
	return paths
}

func tellAll(t *testing.T, name string, findings []string) {
	t.Helper()
	for _, finding := range findings {
		t.Errorf("%s: %s", name, finding)
	}
}

// manifest is one document of a file.
type manifest struct {
	text   []byte
	value  object
	schema object
}

// manifests reads the documents of a file, each with the schema of its definition.
func manifests(t *testing.T, file string) []manifest {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var read []manifest
	schemas := map[string]object{}
	for _, text := range bytes.Split(content, []byte("\n---\n")) {
		one := manifest{text: text}
		if err := yaml.Unmarshal(text, &one.value); err != nil {
			t.Fatal(err)
		}
		group, _, _ := strings.Cut(one.value["apiVersion"].(string), "/")
		resource := strings.ToLower(one.value["kind"].(string)) + "s"
		if schemas[group+resource] == nil {
			loaded, there := load(t, group, resource)
			if !there {
				t.Fatalf("%s: no definition for %v", file, one.value)
			}
			schemas[group+resource] = loaded.Spec.Versions[0].Schema.OpenAPIV3Schema
		}
		one.schema = schemas[group+resource]
		delete(one.value, "metadata")
		read = append(read, one)
	}
	return read
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatal(err, "no files ", pattern)
	}
	return found
}

// TestValidManifests demands that the definitions let every manifest pass, and that what a client then reads is what
// the file beside it says: nothing is lost.
func TestValidManifests(t *testing.T) {
	decoder := decoder(t)
	for _, file := range files(t, "testdata/valid/*.yaml") {
		var read []any
		written := manifests(t, file)
		for _, one := range written {
			found := validation{}
			found.value("", one.schema, one.value)
			tellAll(t, file, found.findings)
			object, _, err := decoder.Decode(one.text, nil, nil)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			read = append(read, object)
		}
		got, err := json.MarshalIndent(read, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		golden := strings.TrimSuffix(file, ".yaml") + ".json"
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: is read as (-%s +now):\n%s", file, golden, diff)
		}
		sameValues(t, file, written, want)
	}
}

// sameValues demands that the golden file says the same as the manifests, so that no update writes down a loss.
func sameValues(t *testing.T, file string, written []manifest, golden []byte) {
	t.Helper()
	var read []object
	if err := json.Unmarshal(golden, &read); err != nil {
		t.Fatal(err)
	}
	for i, one := range written {
		delete(read[i], "metadata")
		if diff := cmp.Diff(one.value, read[i]); diff != "" {
			t.Errorf("%s: document %d (-written +read):\n%s", file, i+1, diff)
		}
	}
}

// TestInvalidManifests demands that the definitions refuse what the first lines of each file name.
func TestInvalidManifests(t *testing.T) {
	for _, file := range files(t, "testdata/invalid/*.yaml") {
		for _, one := range manifests(t, file) {
			var want []string
			for line := range strings.Lines(string(one.text)) {
				if text, found := strings.CutPrefix(line, "# "); found {
					want = append(want, strings.TrimSpace(text))
				}
			}
			found := validation{}
			found.value("", one.schema, one.value)
			slices.Sort(found.findings)
			if diff := cmp.Diff(want, found.findings); diff != "" || len(want) == 0 {
				t.Errorf("%s (-expected +found):\n%s", file, diff)
			}
		}
	}
}

// TestUnknownFieldsAreIgnored demands that a manifest for a newer release can be read.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	object, _, err := decoder(t).Decode([]byte(`{"apiVersion":"traefik.io/v1alpha1","kind":"TLSStore",
		"metadata":{"name":"a","later":1},
		"spec":{"later":{"a":1},"certificates":[{"secretName":"a","later":[1]}]},"later":true}`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.TLSStoreSpec{Certificates: []v1alpha1.Certificate{{SecretName: "a"}}}
	if diff := cmp.Diff(want, object.(*v1alpha1.TLSStore).Spec); diff != "" {
		t.Error(diff)
	}
}
