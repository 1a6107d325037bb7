package inject_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/inject"
)

// with returns a configuration whose only template renders a text.
func with(t testing.TB, template string) *inject.Configuration {
	t.Helper()
	return parse(t, "policy: enabled\ndefaultTemplates: [x]\ntemplates:\n  x: |\n    "+
		strings.ReplaceAll(template, "\n", "\n    ")+"\n")
}

// after returns the pod after the injection.
func after(t testing.TB, config *inject.Configuration, in inject.Input) (*corev1.Pod, inject.Result) {
	t.Helper()
	text, result := injected(t, config, in)
	out := &corev1.Pod{}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out, result
}

func names(containers []corev1.Container) string {
	var out []string
	for i := range containers {
		out = append(out, containers[i].Name)
	}
	return strings.Join(out, " ")
}

func TestContainersHaveAnOrder(t *testing.T) {
	config := with(t, `spec:
  initContainers:
  - {name: late, image: x}
  - {name: native, image: x, restartPolicy: Always}
  - {name: second, env: [{name: A, value: b}]}
  containers:
  - {name: proxy, image: x}
  - {name: b, env: [{name: A, value: b}]}
  - {name: a, env: [{name: A, value: b}]}`)
	pod, _ := after(t, config, input(t, "spec: {initContainers: [{name: first, image: x}, {name: second, image: x}], "+
		"containers: [{name: a, image: x}, {name: b, image: x}]}"))
	if got := names(pod.Spec.InitContainers); got != "native first second late" {
		t.Errorf("init containers: %s", got)
	}
	if got := names(pod.Spec.Containers); got != "a b proxy" {
		t.Errorf("containers: %s", got)
	}
}

func TestOwnContainersWin(t *testing.T) {
	config := with(t, `spec:
  initContainers:
  - name: proxy
    image: proxy:1
    restartPolicy: Always
    args: [a]
    env: [{name: A, value: template}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`)
	const own = "spec: {containers: [{name: app, image: x}, {name: proxy, image: IMAGE, args: [b], " +
		"env: [{name: B, value: own}]}]}"
	for image, want := range map[string]string{"auto": "proxy:1", "own:2": "own:2"} {
		pod, _ := after(t, config, input(t, strings.ReplaceAll(own, "IMAGE", image)))
		got := pod.Spec.InitContainers[0]
		wanted := corev1.Container{
			Name: "proxy", Image: want, Args: []string{"b"}, RestartPolicy: got.RestartPolicy,
			Env: []corev1.EnvVar{{Name: "A", Value: "template"}, {Name: "B", Value: "own"}},
		}
		if diff := cmp.Diff(wanted, got); diff != "" || names(pod.Spec.Containers) != "app" || got.RestartPolicy == nil {
			t.Errorf("%s: %s; containers: %s", image, diff, names(pod.Spec.Containers))
		}
	}
}

// TestAnotherConfigurationReplaces injects a pod that another configuration has injected: nothing of that is left.
func TestAnotherConfigurationReplaces(t *testing.T) {
	const pod = "metadata: {name: a}\nspec: {containers: [{name: app, image: x}, {name: proxy, image: own, args: [a]}]}"
	const first = `metadata:
  labels: {first: x}
  annotations: {first: x}
spec:
  volumes: [{name: first, emptyDir: {}}]
  imagePullSecrets: [{name: first}]
  initContainers: [{name: first, image: x}]
  containers:
  - {name: app, env: [{name: FIRST, value: x}], volumeMounts: [{name: first, mountPath: /x}]}
  - {name: proxy, image: first, command: [x]}
  - {name: other, image: first}`
	const second = `spec: {containers: [{name: proxy, image: second, command: [z]}]}`
	in := input(t, pod)
	between := in
	between.Pod, _ = injected(t, with(t, first), in)
	want, _ := injected(t, with(t, second), in)
	got, _ := injected(t, with(t, second), between)
	if diff := cmp.Diff(object(t, want), object(t, got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	removed, result := injected(t, with(t, "{{ if false }}{{ end }}"), between)
	if diff := cmp.Diff(object(t, in.Pod), object(t, removed)); diff != "" || result.Reason.Code != inject.CodeRemoved {
		t.Errorf("%v, -want +got:\n%s", result.Reason, diff)
	}
}

func object(t *testing.T, text []byte) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVolumesOfThePodStay(t *testing.T) {
	config := with(t, "spec: {volumes: [{name: data, emptyDir: {}}, {name: more, emptyDir: {}}]}")
	pod, result := after(t, config, input(t, "spec: {volumes: [{name: data, configMap: {name: x}}], "+
		"containers: [{name: a, image: x}]}"))
	if len(pod.Spec.Volumes) != 2 || len(result.Warnings) != 1 {
		t.Fatalf("%v, %q", pod.Spec.Volumes, result.Warnings)
	}
	for _, volume := range pod.Spec.Volumes {
		if (volume.Name == "data") != (volume.EmptyDir == nil) {
			t.Errorf("%v", volume)
		}
	}
}

func TestEnvironmentOfTheRequest(t *testing.T) {
	config := with(t, `spec: {containers: [{name: proxy, image: x, env: [{name: ZONE, value: a}]}, {name: app, env: []}]}`)
	in := input(t, pod("", ""))
	in.Environment = []inject.KeyValue{{"cluster", "one"}, {"net", "two/three"}, {"zone", "b"}}
	got, _ := after(t, config, in)
	want := []corev1.EnvVar{
		{Name: "ZONE", Value: "b"},
		{Name: "ISTIO_META_CLUSTER_ID", Value: "one"},
		{Name: "ISTIO_META_NETWORK", Value: "two/three"},
	}
	if diff := cmp.Diff(want, got.Spec.Containers[1].Env); diff != "" || len(got.Spec.Containers[0].Env) != 0 {
		t.Errorf("%s; %v", diff, got.Spec.Containers[0].Env)
	}
	in.Environment = []inject.KeyValue{{"a=b", ""}}
	if _, err := config.Inject(in); err == nil {
		t.Error("a variable without a valid name is accepted")
	}
}

func TestInjectedAnnotations(t *testing.T) {
	config := parse(t, "policy: enabled\ndefaultTemplates: [env-tag]\ninjectedAnnotations: {a/b: c}\nrevision: r1\n")
	got, _ := after(t, config, input(t, pod("labels: {virtual-env: x}, ", "")))
	if got.Annotations["a/b"] != "c" || !strings.Contains(got.Annotations[inject.StatusKey], `"revision":"r1"`) {
		t.Errorf("%v", got.Annotations)
	}
	if other, result := after(t, config, input(t, pod("", ""))); len(other.Annotations) > 0 || result.Injected {
		t.Errorf("%v: %v", result.Reason, other.Annotations)
	}
}

// TestMistakes proves that mistakes of pods and templates are errors with a place.
func TestMistakes(t *testing.T) {
	const fine = `{"spec":{"containers":[{"name":"a","image":"x"}]}}`
	annotated := func(key, value string) string {
		return `{"metadata":{"name":"p","annotations":{"` + key + `":"` + value + `"}},` + fine[1:]
	}
	for _, test := range []struct{ template, pod, want string }{
		{"x: y", fine, `pod shop/: template "x": what it renders: has the key "x" beside metadata and spec`},
		{"[a]", fine, `template "x": what it renders: is not a part of a pod`},
		{"a: {", fine, `template "x": what it renders: yaml: line 1`},
		{"spec: {containers: 1}", fine, `template "x": what it renders: json: cannot unmarshal`},
		{"spec: {containers: [{image: x}]}", fine, `template "x": one of containers has no name`},
		{"spec: {containers: [{name: b}]}", fine, `the container "b" has no image, and the pod has no such container`},
		{"\n{{ index .Spec.Containers 7 }}", fine, `template "x": line 2: `},
		{"\n{{ fail `no` }}", fine, `template "x": line 2: calls fail`},
		{"spec: {}", `[]`, "the pod cannot be read"},
		{"spec: {}", `null`, "the pod cannot be read"},
		{"spec: {}", fine + "x", "the pod cannot be read"},
		{"spec: {}", `{"kind":"Deployment"}`, "the object is not a pod"},
		{"spec: {}", `{"spec":{"containers":{}}}`, "the pod cannot be read"},
		{"spec: {}", annotated(inject.StatusKey, "x"), "pod shop/p: annotation inject.sluice.dev/status: "},
	} {
		in := inject.Input{Pod: []byte(test.pod), Namespace: "shop"}
		if _, err := with(t, test.template).Inject(in); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %s: %v, want %s", test.template, test.pod, err, test.want)
		}
	}
	result := run(t, with(t, "spec: {contaners: []}\nmetadata: {labels: {a: b}}"), fine)
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], `unknown field "spec.contaners"`) {
		t.Errorf("warnings: %q", result.Warnings)
	}
}
