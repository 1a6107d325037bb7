package static

import (
	"slices"
	"strings"
	"testing"
)

// TestLimitsWithoutEffect warns of limits that do something else than they seem to.
func TestLimitsWithoutEffect(t *testing.T) {
	const proxies = "counts all clients of a proxy that forwardedHeaders trusts as one"
	for _, test := range []struct{ name, entrypoint, want string }{
		{"rates", "transport: {limits: {maxConnectionRate: 9, connectionBurst: 20, maxRequestRate: 9, requestBurst: 20}}", ""},
		{"rates per client", "transport: {limits: {maxConnectionRatePerClient: 9, connectionBurst: 20}}", ""},
		{"burst of connections alone", "transport: {limits: {connectionBurst: 20}}", "has no effect without maxConnectionRate"},
		{
			"burst of requests alone", "transport: {limits: {maxConnectionRate: 9, requestBurst: 20}}",
			"has no effect without maxRequestRate",
		},
		{
			"connections behind a proxy",
			"forwardedHeaders: {trustedIPs: [10.0.0.1]}, transport: {limits: {maxConnectionsPerClient: 9}}", proxies,
		},
		{
			"new connections behind a proxy",
			"forwardedHeaders: {insecure: true}, transport: {limits: {maxConnectionRatePerClient: 9}}", proxies,
		},
		{
			"requests behind a proxy",
			"forwardedHeaders: {trustedIPs: [10.0.0.1]}, transport: {limits: {maxRequestRatePerClient: 9}}", proxies,
		},
		{
			"handshakes behind a proxy",
			"forwardedHeaders: {trustedIPs: [10.0.0.1]}, transport: {limits: {maxHandshakeRatePerClient: 9}}", proxies,
		},
		{
			"total behind a proxy",
			"forwardedHeaders: {trustedIPs: [10.0.0.1]}, transport: {limits: {maxConnections: 9, maxRequestRate: 9}}", "",
		},
		{
			"PROXY header", "forwardedHeaders: {trustedIPs: [10.0.0.1]}, proxyProtocol: {trustedIPs: [10.0.0.1]}, " +
				"transport: {limits: {maxRequestRatePerClient: 9}}", "",
		},
		{"UDP", "address: ':1/udp', transport: {limits: {maxConnections: 9}}", "limits: has no effect on a UDP entrypoint"},
		{"UDP without limits", "address: ':1/udp', transport: {lifeCycle: {graceTimeOut: 1s}}", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := test.entrypoint
			if !strings.Contains(options, "address") {
				options = "address: ':1', " + options
			}
			_, findings := load(t, "entryPoints: {web: {"+options+"}}\n", nil, nil)
			limits := slices.DeleteFunc(findings, func(finding Finding) bool {
				return !strings.Contains(finding.String(), "limits")
			})
			if errs := joined(limits, Error); errs != "" {
				t.Error(errs)
			}
			if got := joined(limits, Warning); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
