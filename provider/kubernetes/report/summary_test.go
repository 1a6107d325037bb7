package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

func TestSummaries(t *testing.T) {
	missing := func(reason string) dynamic.Verdict {
		return dynamic.Verdict{Status: dynamic.Quarantined, Reason: reason, Missing: true, Code: codes[reason]}
	}
	degraded := dynamic.Verdict{Status: dynamic.Degraded, Reason: "no effect"}
	for name, test := range map[string]struct {
		verdicts []dynamic.Verdict
		want     summary
	}{
		"nothing is wrong": {nil, summary{code: dynamic.CodeAccepted}},
		"degraded": {[]dynamic.Verdict{degraded}, summary{
			status: dynamic.Degraded, code: dynamic.CodeDegraded,
			message: "no effect",
		}},
		"the worst first, each once": {
			[]dynamic.Verdict{degraded, missing("Service shop/web does not exist"), missing("Service shop/web does not exist")},
			summary{
				status: dynamic.Quarantined, code: dynamic.CodeMissingService,
				message: "Service shop/web does not exist; no effect",
				missing: "Service shop/web does not exist", missingCode: dynamic.CodeMissingService,
			},
		},
		"what another object repeats": {
			[]dynamic.Verdict{
				missing(`service "w@kubernetescrd": service "s@kubernetescrd": Secret shop/tls does not exist`),
				missing("Secret shop/tls does not exist"),
			},
			summary{
				status: dynamic.Quarantined, code: dynamic.CodeMissingSecret, message: "Secret shop/tls does not exist",
				missing: "Secret shop/tls does not exist", missingCode: dynamic.CodeMissingSecret,
			},
		},
		"a colon of its own": {
			[]dynamic.Verdict{missing("rule: bad"), missing("worse")},
			summary{
				status: dynamic.Quarantined, code: dynamic.CodeMissingReference, message: "rule: bad; worse",
				missing: "rule: bad; worse", missingCode: dynamic.CodeMissingReference,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summarize(test.verdicts), cmp.AllowUnexported(summary{})); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessagesFitIntoAnEvent(t *testing.T) {
	var many []dynamic.Verdict
	for i := range 200 {
		many = append(many, dynamic.Verdict{Status: dynamic.Quarantined, Reason: fmt.Sprintf("fault %03d of an object", i)})
	}
	long := []dynamic.Verdict{
		{Status: dynamic.Quarantined, Reason: "a" + strings.Repeat("ä", 2000)},
		{Status: dynamic.Quarantined, Reason: "b"},
	}
	for name, test := range map[string]struct {
		verdicts []dynamic.Verdict
		end      string
	}{"many": {many, " more"}, "long": {long, "; and 1 more"}} {
		message := summarize(test.verdicts).message
		if len(message) > maxMessage || len(message) < maxMessage/2 || !utf8.ValidString(message) ||
			!strings.HasSuffix(message, test.end) {
			t.Errorf("%s: %d bytes: ...%s", name, len(message), message[max(0, len(message)-40):])
		}
	}
}
