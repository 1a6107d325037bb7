package inject

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestPodsAreInjected creates pods of each kind behind one replica, with the rights and the registration that ship.
func TestPodsAreInjected(t *testing.T) {
	f := prepare(t)
	f.start()
	f.untilInjected("first")

	bare := f.create(pod("bare"))
	if got := injected(bare); got != "first" {
		t.Errorf("a pod has %q, want first", got)
	}
	off := pod("off")
	off.Labels["inject.sluice.dev/inject"] = "false"
	other := pod("other")
	other.Namespace = system
	for _, one := range []*corev1.Pod{off, other} {
		if got := injected(f.create(one)); got != "" {
			t.Errorf("pod %s, which the registration excludes, has %q", one.Name, got)
		}
	}

	f.Apply(deployment)
	var owned []*unstructured.Unstructured
	f.UntilAll("Pod", shop, "the pods of a Deployment", func(all []*unstructured.Unstructured) bool {
		owned = slices.DeleteFunc(slices.Clone(all), func(one *unstructured.Unstructured) bool {
			return len(one.GetOwnerReferences()) == 0
		})
		return len(owned) == 2
	})
	for _, one := range owned {
		if text := fmt.Sprint(one.Object["spec"]); !strings.Contains(text, variable) {
			t.Errorf("a pod of a Deployment is not injected: %s", text)
		}
	}
	f.UntilAll("Event", shop, "an Event at the ReplicaSet and at the pod", func(all []*unstructured.Unstructured) bool {
		seen := map[string]bool{}
		for _, one := range all {
			kind, _, _ := unstructured.NestedString(one.Object, "involvedObject", "kind")
			if one.Object["reason"] == "Injected" {
				seen[kind] = true
			}
		}
		return seen["ReplicaSet"] && seen["Pod"]
	})
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: owned}}
  template:
    metadata: {labels: {app: owned}}
    spec:
      nodeSelector: {nowhere: "true"}
      containers: [{name: web, image: web}]
`

// TestDryRunsLeaveNoTrace wants no Event of dry runs, which are injected all the same.
func TestDryRunsLeaveNoTrace(t *testing.T) {
	f := prepare(t)
	f.start()
	f.untilInjected("first")
	for range 20 {
		if _, err := f.dryRun(); err != nil {
			t.Fatal(err)
		}
	}
	f.create(pod("real")) // Its Event comes after those of all dry runs.
	f.UntilAll("Event", shop, "the Event of a real pod", func(all []*unstructured.Unstructured) bool {
		for _, one := range all {
			if name, _, _ := unstructured.NestedString(one.Object, "involvedObject", "name"); name == "dry" {
				t.Fatalf("a dry run has left an Event: %v", one.Object)
			}
		}
		return len(all) > 0
	})
}

// TestConfigurationIsFollowed edits the configuration, with a mistake in between.
func TestConfigurationIsFollowed(t *testing.T) {
	f := prepare(t)
	one := f.start()
	f.untilInjected("first")
	f.configure("second")
	f.untilInjected("second")
	f.write("policy: [\n")
	one.WaitLog("configuration does not load", "last good one")
	if made, err := f.dryRun(); err != nil || injected(made) != "second" {
		t.Errorf("after a mistake: %v, %v", made, err)
	}
	f.configure("third")
	f.untilInjected("third")
}

// TestConfigMapIsFollowed reads the configuration by the API.
func TestConfigMapIsFollowed(t *testing.T) {
	f := prepare(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: configuration, namespace: sluice}
rules:
  - {apiGroups: [""], resources: [configmaps], resourceNames: [templates], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: configuration, namespace: sluice}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: configuration}
subjects: [{kind: ServiceAccount, name: sluice-injector, namespace: sluice}]
`)
	put := func(value string) {
		object := &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: "templates", Namespace: system},
			Data:       map[string]string{"config": strings.ReplaceAll(configuration, "VALUE", value)},
		}
		configMaps := f.Kubernetes.CoreV1().ConfigMaps(system)
		if _, err := configMaps.Update(t.Context(), object, metav1.UpdateOptions{}); err == nil {
			return
		}
		if _, err := configMaps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	put("first")
	f.start("--config=", "--configMap=templates")
	f.untilInjected("first")
	put("second")
	f.untilInjected("second")
}

// TestRegistrationIsRepaired clears the caBundle and changes a selector: the one is written again, the other stays.
func TestRegistrationIsRepaired(t *testing.T) {
	f := prepare(t)
	f.start()
	f.untilInjected("first")
	webhooks := f.Kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations()
	patch := `[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"},
		{"op":"add","path":"/webhooks/0/objectSelector/matchLabels","value":{"app":"web"}}]`
	if _, err := webhooks.Patch(t.Context(), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.until("the caBundle is back", func() bool {
		one, err := webhooks.Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && len(one.Webhooks[0].ClientConfig.CABundle) > 0
	})
	one, err := webhooks.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if one.Webhooks[0].ObjectSelector.MatchLabels["app"] != "web" {
		t.Error("a selector was touched")
	}
	var fields []string
	for _, entry := range one.ManagedFields {
		if strings.HasPrefix(entry.Manager, name) {
			fields = append(fields, entry.Manager+" "+entry.FieldsV1.GetRawString())
		}
	}
	want := name + ` {"f:webhooks":{"k:{\"name\":\"pods.inject.sluice.dev\"}":{".":{},"f:clientConfig":{"f:caBundle":{}},"f:name":{}}}}`
	if len(fields) != 1 || fields[0] != want {
		t.Errorf("the injector owns\n%s\nwant\n%s", strings.Join(fields, "\n"), want)
	}
	f.untilInjected("first")
}

// TestOrderOfWebhooksDoesNotMatter has another webhook, which adds a container, run before and after.
func TestOrderOfWebhooksDoesNotMatter(t *testing.T) {
	f := prepare(t)
	f.start()
	f.untilInjected("first")
	text, err := f.Kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations().
		Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address, bundle := mutator(t)
	var pods []string
	for _, other := range []string{"a-other", "z-other"} { // The API server calls them in the order of their names.
		made := text.DeepCopy()
		made.ObjectMeta = metav1.ObjectMeta{Name: other}
		made.Webhooks = made.Webhooks[:1]
		made.Webhooks[0].Name = "pods.other.test"
		made.Webhooks[0].ClientConfig.Service = nil
		made.Webhooks[0].ClientConfig.URL = &address
		made.Webhooks[0].ClientConfig.CABundle = bundle
		webhooks := f.Kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations()
		if _, err := webhooks.Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		var spec string
		f.until("the pod has the container of "+other, func() bool {
			pod, err := f.dryRun()
			if err != nil || len(pod.Spec.Containers) != 2 {
				return false
			}
			spec = ""
			for _, container := range pod.Spec.Containers {
				spec += fmt.Sprintln(container.Name, container.Env)
			}
			return true
		})
		pods = append(pods, spec)
		if err := webhooks.Delete(t.Context(), other, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		f.until("the pod has one container again", func() bool {
			pod, err := f.dryRun()
			return err == nil && len(pod.Spec.Containers) == 1
		})
	}
	if pods[0] != pods[1] || strings.Count(pods[0], variable) != 2 {
		t.Errorf("before:\n%s\nafter:\n%s", pods[0], pods[1])
	}
}
