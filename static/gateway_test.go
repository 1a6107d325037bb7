package static

import (
	"strings"
	"testing"
)

// TestGatewayOptionsAgree proves that options of the Gateway API that contradict one another, or name nothing, stop the
// start.
func TestGatewayOptionsAgree(t *testing.T) {
	for _, test := range []struct{ name, options, want string }{
		{"defaults", "", ""},
		{"node", "exposure: node", ""},
		{"another exposure", "exposure: host", "exposure"},
		{"pool", "exposure: pool, addressPool: [192.0.2.1, '192.0.2.16/28', '2001:db8::/120']", ""},
		{"pool without addresses", "exposure: pool", "addressPool: is missing"},
		{"addresses without pool", "addressPool: [192.0.2.1]", "has an effect with the exposure pool only"},
		{"no address", "exposure: pool, addressPool: [a.example]", "expected an IP address or a network"},
		{"controller", "controllerName: sluice", "expected domain/path"},
		{"template", "entryPointTemplate: web", ""},
		{"unknown template", "entryPointTemplate: wbe", "no entrypoint has the name"},
		{"no selector", "service: {selector: ''}", "would select every pod"},
		{"ports", "service: {firstPort: 20, lastPort: 10}", "is above lastPort"},
		{"port of an entrypoint", "service: {firstPort: 8000, lastPort: 8100}", "is one of the ports 8000 to 8100"},
		{"its port with another exposure", "exposure: node, service: {firstPort: 8000, lastPort: 8100}", ""},
		{"type", "service: {type: ExternalName}", "type"},
		{"rate", "qps: 0", "qps"},
		{"burst", "burst: 0", "burst"},
		{"address to show", "statusAddress: {ip: 192.0.2.1, hostname: a.example}", ""},
		{"Service to show", "statusAddress: {service: {name: a, namespace: b}}", ""},
		{"nothing to show", "statusAddress: {}", "needs ip, hostname or service"},
		{"both", "statusAddress: {ip: 192.0.2.1, service: {name: a, namespace: b}}", "excludes ip and hostname"},
		{"no namespace", "statusAddress: {service: {name: a}}", "needs name and namespace"},
		{"no IP", "statusAddress: {ip: a.example}", "expected an IP address"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, findings := load(t, "entryPoints: {web: {address: ':8080'}}\nproviders: {kubernetesGateway: {"+
				test.options+"}}\n", nil, nil)
			var errs []string
			for _, finding := range findings {
				if finding.Severity == Error {
					errs = append(errs, finding.String())
				}
			}
			if got := strings.Join(errs, "; "); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
