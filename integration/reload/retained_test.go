package reload

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestATypoInASharedMiddlewareIsNoOutage wants requests served by the last valid definition, no new table, and a
// verdict with the reason until the next valid definition.
func TestATypoInASharedMiddlewareIsNoOutage(t *testing.T) {
	t.Parallel()
	s, client := startSimple(t, "true", map[string]string{"one.yaml": simple("1")})
	await(t, client, "/", answersWith("1"))
	before := s.Readiness().Generation
	s.Overwrite("one.yaml", strings.Replace(simple("2"), "customResponseHeaders", "customResponseHeader", 1))
	found := s.Until("a verdict", func(r harness.Readiness) bool { return r.Retained == 1 })
	if one := found.Verdicts[0]; one.Status != "retained" || one.Name != "version@file" ||
		!strings.Contains(one.Origin, "one.yaml:") || !strings.Contains(one.Reason, "refused since 20") {
		t.Errorf("the verdict is %+v", one)
	}
	s.WaitLog("invalid definition refused", "version@file")
	if !answersWith("1")(client.Get("/")) || found.Status != http.StatusOK || s.Readiness().Generation != before {
		t.Errorf("the last valid definition is not in use: %+v", s.Readiness())
	}
	s.Overwrite("one.yaml", simple("3"))
	await(t, client, "/", answersWith("3"))
	s.Until("no verdict", func(r harness.Readiness) bool { return len(r.Verdicts) == 0 })
}
