package inject

import (
	"strings"
	"testing"
	"time"
)

// laborious is a configuration whose template takes some of the time that a template may take.
const laborious = `policy: enabled
defaultTemplates: [variable]
templates:
  variable: |
    {{- range until 50000 }}{{ end }}
    spec:
      containers:
      {{- range .Spec.Containers }}
      - name: {{ .Name }}
        env: [{name: INJECTED_BY, value: slow}]
      {{- end }}
`

// TestOverload has more pods created than the injector can answer for: it refuses reviews with 429, and the pods are
// created without injection. Afterwards pods are injected again.
func TestOverload(t *testing.T) {
	f := prepare(t)
	f.write(laborious)
	one := f.start("--maxConcurrentReviews=1")
	f.untilInjected("slow")
	_, stop := f.creating(2*time.Millisecond, 2000)
	one.WaitLog("a request to the webhook is refused", "429")
	all, wrong := stop()
	skipped := 0
	for _, fault := range wrong {
		if !strings.HasSuffix(fault, " is not injected") {
			t.Errorf("of %d pods one was refused: %s", all, fault)
		}
		skipped++
	}
	if skipped == 0 {
		t.Errorf("all of %d pods are injected", all)
	}
	f.untilInjected("slow")
}
