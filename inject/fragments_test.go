package inject_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repeating changes a container, replaces a variable, and has a field that pods do not have.
const repeating = `
policy: enabled
defaultTemplates: [one]
templates:
  one: |
    spec:
      unknown: 1
      containers:
      - name: app
        env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
      - {name: added, image: added, env: [{name: B, value: b}]}
      volumes: [{name: own, emptyDir: {}}, {name: added, emptyDir: {}}]
`

// TestPodsWithTheSameText injects pods for which a template renders the same, at the same time: what one of them makes
// of it does not show in others.
func TestPodsWithTheSameText(t *testing.T) {
	pods := []string{
		"metadata: {name: a}\nspec: {containers: [{name: app, image: app}]}\n",
		"metadata: {name: b}\nspec: {containers: [{name: app, image: app, env: [{name: A, value: a}]}]}\n",
		"metadata: {name: c}\nspec: {volumes: [{name: own, hostPath: {path: /}}], containers: [{name: app, image: app}]}\n",
		"metadata: {name: d}\nspec: {containers: [{name: app, image: app}], initContainers: [{name: added, image: own}]}\n",
	}
	shared := parse(t, repeating)
	var running sync.WaitGroup
	for _, pod := range pods {
		running.Go(func() {
			for range 20 {
				want, err := parse(t, repeating).Inject(input(t, pod)) // A configuration that has seen no pod.
				if err != nil {
					t.Error(err)
					return
				}
				got, err := shared.Inject(input(t, pod))
				if diff := cmp.Diff(want, got); err != nil || diff != "" || len(got.Warnings) == 0 {
					t.Errorf("%s%v\n%v\n%s", pod, err, got.Warnings, diff)
				}
			}
		})
	}
	running.Wait()
}
