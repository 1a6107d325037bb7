package xds

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// commandServices are services of a file, of which one cannot be published.
const commandServices = `
http:
  services:
    web:
      loadBalancer: {strategy: p2c, servers: [{url: "http://192.0.2.1:80"}, {url: "http://192.0.2.2:80", weight: 3}]}
    spare: {loadBalancer: {servers: [{url: "http://192.0.2.9:80"}]}}
    split: {weighted: {services: [{name: web, weight: 3}, {name: spare}]}}
    both: {failover: {service: web, fallback: spare}}
    secure: {loadBalancer: {servers: [{url: "https://192.0.2.1"}]}}
`

// splitTree is what get prints of the service split.
const splitTree = `listener split@file
  route split@file: web@file 75%, spare@file 25%
  cluster web@file: least request, http, endpoints web@file
    192.0.2.1:80
    192.0.2.2:80 weight 3
  cluster spare@file: round robin, http, endpoints spare@file
    192.0.2.9:80
`

// TestCommands prints what is published with sluice xds, as an operator would.
func TestCommands(t *testing.T) {
	s := harness.Start(t, harness.Setup{Static: `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
xds: {address: "` + serverAddress + `"}
`, Dynamic: map[string]string{"services.yaml": commandServices}})
	defer s.Stop()
	s.WaitLog("xDS is served") // Streams that come before are refused.
	missing := filepath.Join(t.TempDir(), "missing.crt")
	for _, test := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"get", 0, "both@file\nspare@file\nsplit@file\nweb@file\n", ""},
		{"get split@file", 0, splitTree, ""},
		{"get both@file", 0, "cluster both@file: the first with endpoints of web@file, spare@file\n    cluster web@file", ""},
		{"get spare@file --json", 0, `"address":"192.0.2.9","portValue":80`, ""},
		{"get secure@file spare@file", 1, "listener spare@file\n", "listener secure@file does not exist"},
		{"get --server 127.0.0.1:1", 2, "", "127.0.0.1:1: Unavailable"},
		{"get --ca " + missing, 2, "", "--ca: open " + missing},
		{"get --tls --timeout 2s", 2, "", serverAddress},
		{"get --sevrer x", 2, "", "did you mean --server?"},
		{"list", 2, "", "one of get, watch"},
	} {
		t.Run(test.args, func(t *testing.T) {
			result := harness.Run(t, t.TempDir(), nil, append([]string{"xds"}, strings.Fields(test.args)...)...)
			if result.Code != test.code || !strings.Contains(result.Stdout, test.stdout) ||
				!strings.Contains(result.Stderr, test.stderr) {
				t.Errorf("exit code %d, want %d\n%s%s", result.Code, test.code, result.Stdout, result.Stderr)
			}
		})
	}
}
