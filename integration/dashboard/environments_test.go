package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// divided is the configuration of four environment services with twelve tags; the options of a service stand before its
// subsets.
func divided() string {
	var text strings.Builder
	text.WriteString("http:\n  services:\n")
	for _, one := range []struct{ name, options, tags string }{
		{"shop", "default: dev", "dev dev.proj1 dev.proj1.feature1 dev.proj2 staging"},
		{"orders", "default: dev", "dev dev.proj3 dev.proj1.feature2 staging staging.canary"},
		{"payment", "fallback: any, service: payment-dev", "dev dev.proj1.feature3 dev.proj2.login dev.proj4"},
		{"search", "fallback: reject, default: dev", "dev.proj2.checkout staging"},
	} {
		var subsets []string
		for tag := range strings.FieldsSeq(one.tags) {
			service := one.name + "-" + strings.ReplaceAll(tag, ".", "-")
			subsets = append(subsets, fmt.Sprintf("{tag: %s, service: %s}", tag, service))
			fmt.Fprintf(&text, "    %s: {loadBalancer: {servers: [{url: '${A}'}]}}\n", service)
		}
		fmt.Fprintf(&text, "    %s: {environment: {%s, subsets: [%s]}}\n", one.name, one.options,
			strings.Join(subsets, ", "))
	}
	return text.String()
}

// TestEnvironments shows which subset of four services answers twelve tags.
func TestEnvironments(t *testing.T) {
	chromium := newBrowser(t)
	sluice := harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"environments.yaml": divided()},
		Vars: map[string]string{"A": "http://" + harness.StartBackend(t, "a", nil).H1},
	})
	chromium.run(t, sluice, "/dashboard/", "divides")
}
