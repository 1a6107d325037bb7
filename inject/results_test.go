package inject_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/inject"
)

// podWithToken is a pod with the volume of its token, as the API server adds it.
const podWithToken = `{"metadata":{"generateName":"web-","labels":{"app":"web"}},"spec":{` +
	`"volumes":[{"name":"kube-api-access-abcde","projected":{}}],"containers":[{"name":"web","image":"web:1",` +
	`"volumeMounts":[{"name":"kube-api-access-abcde","mountPath":"/token"}]},` +
	`{"name":"sluice-sidecar","image":"auto","volumeMounts":[{"name":"kube-api-access-abcde","mountPath":"/token"}]}]}}`

// TestKeptResults compares the results for pods in turn, each of which may be kept, with those of a configuration that
// has seen no other pod.
func TestKeptResults(t *testing.T) {
	const shipped = "policy: enabled\ndefaultTemplates: [sidecar, env-tag]\n"
	for name, config := range map[string]string{
		"templates that ship": shipped,
		"a template that looks at volumes": "policy: enabled\ndefaultTemplates: [x]\ntemplates:\n  x: |\n    metadata:\n" +
			"      annotations: {sum: \"{{ (index .Spec.Volumes 0).Name | sha256sum }}\"}\n",
		"a selector of the name": shipped + "neverInjectSelector: [{matchLabels: {name: kube-api-access-vwxyz}}]\n",
		"a volume of the pod": "policy: enabled\nbuiltinTemplates: [sidecar]\ndefaultTemplates: [x]\ntemplates:\n  x: |\n" +
			"    spec: {volumes: [{name: kube-api-access-vwxyz}]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			kept := parse(t, config)
			for _, pod := range []string{
				podWithToken,
				strings.ReplaceAll(podWithToken, "abcde", "vwxyz"),
				strings.ReplaceAll(podWithToken, "abcde", "00000"),
				strings.Replace(podWithToken, "abcde", "vwxyz", 1),
				strings.ReplaceAll(podWithToken, "abcde", "ABCDE"),
				strings.ReplaceAll(podWithToken, "kube-api-access-abcde", "x"),
				strings.ReplaceAll(podWithToken, `"app":"web"`, `"name":"kube-api-access-abcde"`),
				strings.NewReplacer(`"app":"web"`, `"name":"kube-api-access-vwxyz"`, "abcde", "vwxyz").Replace(podWithToken),
				strings.ReplaceAll(podWithToken, `"app":"web"`, `"virtual-env":"kube-api-access-abcde"`),
			} {
				for _, in := range []inject.Input{
					{Pod: []byte(pod), Namespace: "shop", NativeSidecars: true},
					{Pod: []byte(pod), Namespace: "kube-system", NativeSidecars: true},
					{Pod: []byte(pod), Namespace: "shop"},
					{Pod: []byte(pod), Namespace: "shop", Environment: []inject.KeyValue{{Key: "net", Value: "a"}}},
					{Pod: []byte(pod), Namespace: "shop", Owner: &inject.Owner{Kind: "Job", Name: "a"}},
				} {
					want, wantErr := parse(t, config).Inject(in)
					for range 2 {
						got, err := kept.Inject(in)
						if fmt.Sprint(err) != fmt.Sprint(wantErr) {
							t.Fatalf("%v, want %v", err, wantErr)
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("%s (-want +got)\n%s", pod, diff)
						}
					}
				}
			}
		})
	}
}

// TestKeptResultsAreCopies changes what is returned.
func TestKeptResultsAreCopies(t *testing.T) {
	config := parse(t, "policy: enabled\ndefaultTemplates: [sidecar]\n")
	for _, pod := range []string{podWithToken, strings.ReplaceAll(podWithToken, "kube-api-access-abcde", "x")} {
		in := inject.Input{Pod: []byte(pod), Namespace: "shop", NativeSidecars: true}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range 20 {
					result, err := config.Inject(in)
					if err != nil || !json.Valid(result.Patch) {
						t.Errorf("%v %s", err, result.Patch)
						return
					}
					clear(result.Patch)
				}
			})
		}
		group.Wait()
	}
}

// BenchmarkInjectKept is one pod of a workload after another.
func BenchmarkInjectKept(b *testing.B) {
	config := parse(b, "policy: enabled\ndefaultTemplates: [sidecar]\n")
	in := inject.Input{Namespace: "shop", NativeSidecars: true}
	b.ReportAllocs()
	number := 0
	for b.Loop() {
		number++
		in.Pod = []byte(strings.ReplaceAll(podWithToken, "abcde", fmt.Sprintf("%05d", number%100_000)))
		if _, err := config.Inject(in); err != nil {
			b.Fatal(err)
		}
	}
}
