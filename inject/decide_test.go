package inject_test

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/inject"
)

// decisions is a configuration with all that decides; %s is the policy.
const decisions = `
policy: POLICY
defaultTemplates: [label]
templates:
  label: "metadata: {labels: {injected: x}}"
neverInjectSelector:
  - {}
  - matchLabels: {never: "1"}
alwaysInjectSelector:
  - matchExpressions: [{key: always, operator: Exists}]
`

func pod(metadata, spec string) string {
	return "metadata: {name: a, " + metadata + "}\nspec: {" + spec + "containers: [{name: app, image: x}]}\n"
}

func TestDecision(t *testing.T) {
	const (
		istioOn  = `sidecar.istio.io/inject: "true"`
		istioOff = `sidecar.istio.io/inject: "false"`
		ownOn    = `inject.sluice.dev/inject: "true"`
		ownOff   = `inject.sluice.dev/inject: "false"`
	)
	labels := func(text string) string { return "labels: {" + text + "}, " }
	annotations := func(text string) string { return "annotations: {" + text + "}, " }
	for _, test := range []struct {
		name, metadata, spec string
		disabled, enabled    inject.Code
		warnings             int
	}{
		{"nothing", "", "", inject.CodePolicyOff, inject.CodePolicy, 0},
		{"label", labels(istioOn), "", inject.CodeLabel, inject.CodeLabel, 0},
		{"own label", labels(ownOn), "", inject.CodeLabel, inject.CodeLabel, 0},
		{"own label before Istio's", labels(ownOff + ", " + istioOn), "", inject.CodeLabelOff, inject.CodeLabelOff, 0},
		{
			"Istio's label before the own annotation", labels(istioOff) + annotations(ownOn), "", inject.CodeLabelOff,
			inject.CodeLabelOff, 0,
		},
		{"annotation", annotations(istioOn), "", inject.CodeAnnotation, inject.CodeAnnotation, 0},
		{"annotation off", annotations(istioOff), "", inject.CodeAnnotationOff, inject.CodeAnnotationOff, 0},
		{
			"own annotation before Istio's", annotations(ownOn + ", " + istioOff), "", inject.CodeAnnotation,
			inject.CodeAnnotation, 0,
		},
		{
			"empty label", labels(`sidecar.istio.io/inject: ""`) + annotations(istioOn), "", inject.CodeAnnotation,
			inject.CodeAnnotation, 0,
		},
		{"other value", labels(`sidecar.istio.io/inject: "yes"`), "", inject.CodePolicyOff, inject.CodePolicy, 1},
		{"network of the node", labels(istioOn), "hostNetwork: true, ", inject.CodeHostNetwork, inject.CodeHostNetwork, 0},
		{
			"namespace", labels(istioOn) + "namespace: kube-system, ", "", inject.CodeIgnoredNamespace,
			inject.CodeIgnoredNamespace, 0,
		},
		{"never", labels(`never: "1"`), "", inject.CodeNeverSelector, inject.CodeNeverSelector, 0},
		{"label before never", labels(`never: "1", ` + istioOn), "", inject.CodeLabel, inject.CodeLabel, 0},
		{"never before always", labels(`never: "1", always: "1"`), "", inject.CodeNeverSelector, inject.CodeNeverSelector, 0},
		{"always", labels(`always: "1"`), "", inject.CodeAlwaysSelector, inject.CodeAlwaysSelector, 0},
		{"label before always", labels(`always: "1", ` + istioOff), "", inject.CodeLabelOff, inject.CodeLabelOff, 0},
	} {
		for policy, want := range map[string]inject.Code{"disabled": test.disabled, "enabled": test.enabled} {
			t.Run(test.name+"/"+policy, func(t *testing.T) {
				config := parse(t, strings.ReplaceAll(decisions, "POLICY", policy))
				result := run(t, config, pod(test.metadata, test.spec))
				if result.Reason.Code != want || len(result.Warnings) != test.warnings || result.Reason.Text == "" {
					t.Errorf("reason %q, warnings %q; want %s", result.Reason, result.Warnings, want)
				}
				injects := want == inject.CodeLabel || want == inject.CodeAnnotation || want == inject.CodePolicy ||
					want == inject.CodeAlwaysSelector
				if result.Injected != injects || (result.Patch != nil) != injects {
					t.Errorf("injected: %t, patch %s", result.Injected, result.Patch)
				}
			})
		}
	}
}

func TestDecisionByTheExtensions(t *testing.T) {
	const template = "templates: {label: \"metadata: {labels: {injected: x}}\"}\ndefaultTemplates: [label]\n"
	for _, test := range []struct {
		name, config, pod string
		want              inject.Code
	}{
		{
			"keys of Istio are not read", "policy: enabled\nistioKeys: false\n",
			pod(`labels: {sidecar.istio.io/inject: "false"}, `, ""), inject.CodePolicy,
		},
		{
			"no ignored namespaces", "policy: enabled\nignoredNamespaces: []\n", pod("namespace: kube-system, ", ""),
			inject.CodePolicy,
		},
		{
			"other ignored namespaces", "policy: enabled\nignoredNamespaces: [shop]\n", pod("", ""),
			inject.CodeIgnoredNamespace,
		},
		{
			"network of the node", "policy: enabled\ninjectHostNetwork: true\n", pod("", "hostNetwork: true, "),
			inject.CodePolicy,
		},
		{"policy by default", "", pod("", ""), inject.CodePolicyOff},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := run(t, parse(t, test.config+template), test.pod); got.Reason.Code != test.want {
				t.Errorf("reason %q, want %s", got.Reason, test.want)
			}
		})
	}
}

func TestTemplatesAreSelected(t *testing.T) {
	config := parse(t, `
policy: enabled
defaultTemplates: [both]
aliases: {both: [one, two], again: [two]}
templates:
  one: "metadata: {labels: {one: x}}"
  two: "metadata: {labels: {two: x}}"
  three: "{{ if .NativeSidecars }}metadata: {labels: {three: x}}{{ end }}"
`)
	for annotations, want := range map[string]string{
		"": "one two",
		`inject.istio.io/templates: "three, again,,two"`:                            "three two",
		`inject.sluice.dev/templates: three, inject.istio.io/templates: one`:        "three",
		`inject.istio.io/templates: ""`:                                             "",
		`inject.istio.io/templates: thre`:                                           `there is no template "thre", did you mean "three"?`,
		`inject.istio.io/templates: three, sidecar.istio.io/nativeSidecar: "false"`: "three",
		`sidecar.istio.io/nativeSidecar: maybe`:                                     `"maybe" is neither true nor false`,
	} {
		result, err := config.Inject(input(t, pod("annotations: {"+annotations+"}, ", "")))
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %s", annotations, err, want)
		case err == nil && strings.Join(result.Templates, " ") != want:
			t.Errorf("%s: %q, want %s", annotations, result.Templates, want)
		}
		nothing := want == "" || strings.Contains(annotations, `"false"`)
		if err == nil && nothing != (result.Reason.Code == inject.CodeNothing) {
			t.Errorf("%s: %v", annotations, result.Reason)
		}
	}
}

func TestOwner(t *testing.T) {
	owned := func(name, labels, kind, owner string) string {
		return "metadata: {generateName: x-, " + name + "labels: {" + labels + "}, ownerReferences: [{kind: Other, name: o, " +
			"apiVersion: v1, uid: a}, {apiVersion: some/v1, controller: true, uid: b, kind: " + kind + ", name: " + owner +
			"}]}\nspec: {containers: [{name: app, image: x}]}"
	}
	const unowned = "\nspec: {containers: [{name: app, image: x}]}"
	for _, test := range []struct{ pod, want string }{
		{pod("", ""), "v1 Pod a"},
		{"metadata: {generateName: web-}" + unowned, "v1 Pod web"},
		{owned("", "pod-template-hash: 5d5", "ReplicaSet", "web-5d5"), "apps/v1 Deployment web"},
		{owned("", "pod-template-hash: 5d6", "ReplicaSet", "web-5d5"), "some/v1 ReplicaSet web-5d5"},
		{owned("", "rollouts-pod-template-hash: 5d5", "ReplicaSet", "web-5d5"), "argoproj.io/v1alpha1 Rollout web"},
		{owned("", "", "Job", "nightly-28405470"), "some/v1 CronJob nightly"},
		{owned("", "", "Job", "nightly-1"), "some/v1 Job nightly-1"},
		{owned("", "deploymentconfig: web", "ReplicationController", "web-2"), "apps.openshift.io/v1 DeploymentConfig web"},
		{owned("", "", "ReplicationController", "web-2"), "some/v1 ReplicationController web-2"},
		{owned("name: set-0, ", "", "StatefulSet", "set"), "some/v1 StatefulSet set"},
		{strings.Replace(owned("name: p, ", "", "Job", "j"), "generateName: x-, ", "", 1), "v1 Pod p"},
	} {
		owner := run(t, parse(t, "policy: enabled\n"), test.pod).Owner
		if got := owner.APIVersion + " " + owner.Kind + " " + owner.Name; got != test.want {
			t.Errorf("%s: %s, want %s", test.pod, got, test.want)
		}
	}
	in := input(t, pod("", ""))
	in.Owner = &inject.Owner{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	config := parse(t, "policy: enabled\ndefaultTemplates: [owner]\ntemplates:\n  owner: \"metadata: {labels: {owner: "+
		"{{ .TypeMeta.Kind }}-{{ .DeploymentMeta.Name }}-{{ .DeploymentMeta.Namespace }}}}\"\n")
	if after, _ := injected(t, config, in); !strings.Contains(string(after), "Deployment-web-shop") {
		t.Errorf("%s", after)
	}
}
