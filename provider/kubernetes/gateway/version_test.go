package gateway

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/static"
)

// TestTheVersionOfTheCRDsIsJudged proves what a GatewayClass says of the version of the CRDs, which is followed, and
// that it is accepted whatever that is.
func TestTheVersionOfTheCRDsIsJudged(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.apply(t, common(t))
	p := c.provider(static.KubernetesGateway{})
	const supported, unsupported = "SupportedVersion=True:SupportedVersion", "SupportedVersion=False:UnsupportedVersion"
	for _, test := range []struct{ version, want string }{
		{"v1.6.3", supported},
		{"v1.0.0", supported},
		{"v1.6.0-rc.1", supported},
		{"v1.7.0", unsupported},
		{"v1.10.0", unsupported},
		{"v1.5", supported},
		{"v0.8.1", unsupported},
		{"v2.0.0", unsupported},
		{"1.6.0", unsupported},
		{"v1.", unsupported},
		{"v1.-1.0", unsupported},
		{"", unsupported},
	} {
		c.define(test.version)
		served(p)
		if lines := strings.Join(statusLines(p), "\n"); !strings.Contains(lines, "Accepted=True:Accepted@1 "+test.want) {
			t.Errorf("%q is not %s:\n%s", test.version, test.want, lines)
		}
	}
	c.definitions.drop(types.NamespacedName{Name: client.GatewayDefinition})
	configuration := served(p)
	if lines := strings.Join(statusLines(p), "\n"); !strings.Contains(lines, unsupported) {
		t.Errorf("no CRD to read is not %s:\n%s", unsupported, lines)
	}
	if len(configuration.Verdicts) > 0 {
		t.Errorf("a version has verdicts: %v", configuration.Verdicts)
	}
}
