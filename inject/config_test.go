package inject_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/inject"
)

// broken has a mistake of each kind.
const broken = `polcy: enabled
policy: sometimes
template: x
defaultTemplates: [env-tga]
builtinTemplates: [env-tag, foo]
aliases: {a: [b]}
neverInjectSelector:
- matchExpressions: [{key: a, operator: Inn}]
templates:
  env: |
    a
    {{ env "A" "b" }}
  field: |

    {{ if true }}{{ .ProxyConfig.X }}{{ end }}
  chance: "{{ uuidv4 }}"
  env-tag: "{{ .Spec.Volumes }}"
  method: >-
    {{ range .Spec.Containers }}{{ .DeepCopy }}{{ end }}
  syntax: '{{ if }}'
`

func TestMistakesOfAConfiguration(t *testing.T) {
	_, err := inject.Parse([]byte(broken), []byte("grpcBootstrap: 1\nenvTag:\n  lables: [a]\n  variable: [1]\n"))
	want := `config:1: polcy: unknown option, did you mean "policy"?
config:2: policy: expected one of enabled, disabled, got "sometimes"
config:3: template: belongs to an old version; put it below templates under a name
config:4: defaultTemplates: there is no template "env-tga", did you mean "env-tag"?
config:6: aliases.a: there is no template "b"; there are: chance, env, env-tag, field, method, syntax
config:5: builtinTemplates: "foo" is none of env-tag, grpc-bootstrap, sidecar
config:7: neverInjectSelector[0]: "Inn" is not a valid label selector operator
config:12: template "env", line 2: calls env, which reads the environment of the injector; set a value instead
config:15: template "field", line 2: uses .ProxyConfig, which Istio's mesh configuration has: use .Values here
config:16: template "chance", line 1: calls uuidv4, which depends on chance
config:17: template "env-tag" has the name of one of builtinTemplates
config:19: template "method", line 1: calls the method DeepCopy, which templates may not call
config:20: template "syntax", line 1: has an action or parentheses without a value`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(lines(want), lines(err.Error())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, err = inject.Parse([]byte("defaultTemplates: [env-tag]\n"),
		[]byte("envTag:\n  lables: [a]\n  variable: [1]\n  source:\nother: x\n"))
	want = `values:2: envTag.lables: unknown option, did you mean "labels"?
values:3: envTag.variable: expected a single value, got a list`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	for text, want := range map[string]string{
		"a: b: c\n":         "config:1: ",
		"values: [a]\n":     "config:1: expected a map, got a list",
		"values: {a: 1}\n#": "config:1: values are given here and in values",
		"[]":                "config:1: expected a map, got a list",
	} {
		values := ""
		if strings.Contains(text, "#") {
			values = "b: 1"
		}
		if _, err := inject.Parse([]byte(text), []byte(values)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// lines returns the lines of a text by their number in the configuration.
func lines(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		file, rest, _ := strings.Cut(line, ": ")
		out[file] += rest
	}
	return out
}

// TestFormsOfAConfiguration loads one configuration from each of the places where it may be.
func TestFormsOfAConfiguration(t *testing.T) {
	const config = "policy: enabled\ndefaultTemplates: [x]\ntemplates:\n  x: |\n    metadata: {labels: {a: \"{{ .Values.a }}\"}}\n"
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	indented := strings.ReplaceAll(config, "\n", "\n    ")
	write("mount/config", config)
	write("mount/values", `{"a": "b"}`)
	write("alone/config", config+"values: {a: b}\n")
	paths := []string{
		filepath.Join(folder, "mount"),
		filepath.Join(folder, "alone"),
		write("one.yaml", config+"values:\n  a: b\n"),
		write("configmap.yaml", "kind: ConfigMap\ndata:\n  config: |\n    "+indented+"\n  values: '{\"a\": \"b\"}'\n"),
	}
	for _, path := range paths {
		loaded, err := inject.Load(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got, _ := after(t, loaded, input(t, pod("", "")))
		if got.Labels["a"] != "b" {
			t.Errorf("%s: labels %v", path, got.Labels)
		}
	}
	separate, err := inject.LoadFiles(filepath.Join(folder, "mount/config"), write("other.yaml", "a: c\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := after(t, separate, input(t, pod("", ""))); got.Labels["a"] != "c" {
		t.Errorf("labels %v", got.Labels)
	}
	wrong := write("wrong.yaml", "kind: ConfigMap\ndata:\n  values: |\n    envTag:\n      lables: []\n  config: |\n"+
		"    defaultTemplates: [env-tag]\n    templates:\n      x: |\n        {{ nope }}\n")
	want := wrong + ":10: template \"x\", line 1: calls an unknown function\n" +
		wrong + ":5: envTag.lables: unknown option, did you mean \"labels\"?"
	if _, err := inject.Load(wrong); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	for _, path := range []string{
		filepath.Join(folder, "absent"), folder, write("empty.yaml", "kind: ConfigMap\n"),
		write("values.yaml", "kind: ConfigMap\ndata: {config: [a]}\n"),
	} {
		if _, err := inject.Load(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestDefaultConfiguration(t *testing.T) {
	config, err := inject.Default()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inject.ShippedTemplates(), config.Templates()); diff != "" {
		t.Error(diff)
	}
	for metadata, want := range map[string]inject.Code{
		"": inject.CodePolicyOff,
		`labels: {sidecar.istio.io/inject: "true"}, `:  inject.CodePolicyOff,
		`labels: {inject.sluice.dev/inject: "true"}, `: inject.CodeLabel,
	} {
		if got := run(t, config, pod(metadata, "")); got.Reason.Code != want {
			t.Errorf("%s: %v, want %s", metadata, got.Reason, want)
		}
	}
}

// TestValuesOfTheShippedTemplates sets every value.
func TestValuesOfTheShippedTemplates(t *testing.T) {
	config, err := inject.Parse([]byte("policy: enabled\ndefaultTemplates: [env-tag, grpc-bootstrap, sidecar]\n"), []byte(`
envTag: {labels: [absent, version], variable: TAG, containers: [app], source: literal}
grpcBootstrap:
  variable: BOOTSTRAP
  containers: [app]
  server: xds:1
  channelCredentials: [{type: tls, config: {ca_certificate_file: /ca}}]
  callCredentials: [{type: jwt_token_file}]
  serverFeatures: [xds_v3, ignore_resource_deletion]
  nodeID: n
  region: 1
  zone: z
  subZone: s
sidecar: {image: i, imagePullPolicy: Never, args: [a], containerArgs: [b], tagHeader: X-Tag,
  env: [{name: E, value: "1"}], proxy: "http://p", noProxy: n,
  containers: [app], pingPort: 99, pingPath: /p, runAsUser: 7, resources: {limits: {cpu: 1}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	in := input(t, "metadata: {labels: {version: v1}}\nspec: {containers: [{name: app, image: x}, {name: b, image: x}]}")
	in.NativeSidecars = false
	got, _ := after(t, config, in)
	env := map[string]string{}
	for _, one := range got.Spec.Containers[0].Env {
		env[one.Name] = one.Value
	}
	want := map[string]string{
		"TAG": "v1", "HTTP_PROXY": "http://p", "http_proxy": "http://p", "NO_PROXY": "n", "no_proxy": "n",
		"SLUICE_POD_NAME": "", "SLUICE_POD_NAMESPACE": "",
		"BOOTSTRAP": `{"node":{"id":"n","locality":{"region":"1","sub_zone":"s","zone":"z"}},"xds_servers":[{` +
			`"call_creds":[{"type":"jwt_token_file"}],"channel_creds":[{"config":{"ca_certificate_file":"/ca"},"type":"tls"}],` +
			`"server_features":["xds_v3","ignore_resource_deletion"],"server_uri":"xds:1"}]}`,
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	sidecar := got.Spec.Containers[2]
	wantArgs := []string{"a", "b", "--entryPoints.proxy.forwardProxy.defaultHeaders.X-Tag=$(POD_TAG)"}
	if len(got.Spec.Containers[1].Env) != 0 || sidecar.Image != "i" || sidecar.ImagePullPolicy != "Never" ||
		!slices.Equal(sidecar.Args, wantArgs) || sidecar.Env[3].Value != "1" ||
		sidecar.Env[2].ValueFrom.FieldRef.FieldPath != "metadata.labels['version']" ||
		*sidecar.SecurityContext.RunAsUser != 7 ||
		sidecar.StartupProbe.HTTPGet.Path != "/p" || sidecar.ReadinessProbe.HTTPGet.Port.IntValue() != 99 ||
		sidecar.Ports[0].ContainerPort != 99 || sidecar.Resources.Limits.Cpu().Value() != 1 {
		t.Errorf("%+v", got.Spec.Containers[1:])
	}
	zone, err := inject.Parse([]byte("policy: enabled\ndefaultTemplates: [grpc-bootstrap]\n"),
		[]byte("grpcBootstrap: {zoneLabel: topology.kubernetes.io/zone}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, _ = after(t, zone, in)
	if one := got.Spec.Containers[0].Env[2]; one.Name != "SLUICE_ZONE" ||
		one.ValueFrom.FieldRef.FieldPath != "metadata.labels['topology.kubernetes.io/zone']" ||
		!strings.Contains(got.Spec.Containers[0].Env[3].Value, `"zone":"$(SLUICE_ZONE)"`) {
		t.Errorf("%v", got.Spec.Containers[0].Env)
	}
}
