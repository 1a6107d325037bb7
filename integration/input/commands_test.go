package input

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestCommandLine(t *testing.T) {
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"unknown command", []string{"chekc"}, 2, "", "sluice: unknown command \"chekc\"; did you mean check?\n"},
		{
			"unlike any command",
			[]string{"frobnicate"},
			2, "",
			"sluice: unknown command \"frobnicate\"; one of run, check, explain, routes, healthcheck, bundle, whoami, " +
				"version, help\n",
		},
		{"misspelt flag", []string{"routes", "--jsno"}, 2, "", "sluice routes: unknown flag --jsno; did you mean --json?\n"},
		{
			"unknown flag",
			[]string{"routes", "--frobnicate"},
			2, "",
			"flag --frobnicate: is unknown\nsluice routes: the static configuration is wrong\n",
		},
		{"argument too many", []string{"check", "sluice.yaml"}, 2, "", "sluice check: unexpected argument \"sluice.yaml\"\n"},
		{
			"argument to run",
			[]string{"run", "sluice.yaml"},
			2, "",
			"sluice: unknown command \"sluice.yaml\"; one of run, check, explain, routes, healthcheck, bundle, whoami, " +
				"version, help\n",
		},
		{
			"no ping",
			[]string{"healthcheck", "--entryPoints.web.address=127.0.0.1:0"},
			1, "",
			"sluice healthcheck: ping is not enabled: configure ping, or name the address with --url\n",
		},
		{
			"no listener",
			[]string{"healthcheck", "--url=http://127.0.0.1:1/ready"},
			1, "",
			"not ready: GET http://127.0.0.1:1/ready: dial tcp 127.0.0.1:1: connect: connection refused\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			result := harness.Run(t, t.TempDir(), nil, test.args...)
			if result.Code != test.code || result.Stdout != test.stdout || result.Stderr != test.stderr {
				t.Errorf("exit code %d, stdout %q, stderr %q", result.Code, result.Stdout, result.Stderr)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}, {"--configFile=x", "--help"}} {
		result := harness.Run(t, t.TempDir(), nil, args...)
		if result.Code != 0 || result.Stderr != "" {
			t.Errorf("%q: exit code %d, %s", args, result.Code, result.Stderr)
		}
		for _, want := range []string{
			"usage: sluice", "explain ", "healthcheck ", "--configFile string", "--providers.file.directory string",
			"--entryPoints.<name>.address string", "--log.level string",
		} {
			if !strings.Contains(result.Stdout, want) {
				t.Errorf("%q: the help lacks %q", args, want)
			}
		}
	}
	for _, command := range []string{"check", "explain", "routes", "healthcheck", "whoami", "version"} {
		result := harness.Run(t, t.TempDir(), nil, command, "--help")
		if result.Code != 0 || !strings.Contains(strings.ToLower(result.Stdout+result.Stderr), "usage") {
			t.Errorf("%s --help: exit code %d, %s%s", command, result.Code, result.Stdout, result.Stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	result := harness.Run(t, t.TempDir(), nil, "version")
	for _, want := range []string{"version: ", "commit: ", "go: ", "os/arch: "} {
		if !strings.Contains(result.Stdout, want) {
			t.Errorf("the version lacks %q: %s", want, result.Stdout)
		}
	}
	if result.Code != 0 || result.Stderr != "" {
		t.Errorf("exit code %d, %s", result.Code, result.Stderr)
	}
}

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	s := startExplain(t)
	url := "http://" + s.Addr("traefik") + "/ready"
	if result := harness.Run(t, t.TempDir(), nil, "healthcheck", "--url", url); result.Code != 0 ||
		result.Stdout != "ready: "+url+"\n" {
		t.Errorf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
	broken := harness.Start(t, harness.Setup{
		Static: static, Args: []string{"--providers.file.directory=${DIR}/absent"},
		NotReady: true,
	})
	broken.Until("a finding", func(r harness.Readiness) bool { return len(r.Verdicts) == 1 })
	result := harness.Run(t, t.TempDir(), nil, "healthcheck", "--url=http://"+broken.Addr("traefik")+"/ready")
	if result.Code != 1 || strings.Count(result.Stderr, "\n") != 1 || !strings.Contains(result.Stderr,
		"503 Service Unavailable") {
		t.Errorf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
}
