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
			"sluice: unknown command \"frobnicate\"; one of bundle, certificates, check, completion, connections, " +
				"endpoints, environments, explain, healthcheck, help, inject, injector, log-level, migrate, " +
				"routes, run, sidecar, upgrade, version, whoami, xds\n",
		},
		{
			"misspelt name of the file",
			[]string{"--confgFile=x"},
			2, "",
			"sluice: unknown flag --confgFile=x; did you mean --configFile?\n",
		},
		{"flag without a value", []string{"check", "-c"}, 2, "", "sluice check: flag -c needs a value\n"},
		{"misspelt flag", []string{"routes", "--jsno"}, 2, "", "sluice routes: unknown flag --jsno; did you mean --json?\n"},
		{
			"unknown flag",
			[]string{"routes", "--frobnicate"},
			2, "",
			"configuration: environment and flags\nflag --frobnicate: is unknown\nsluice routes: the static configuration is wrong\n",
		},
		{"file that is missing", []string{"check", "no.yaml"}, 2, "", "sluice check: no.yaml: no such file or directory\n"},
		{
			"argument to run",
			[]string{"run", "sluice.yaml"},
			2, "",
			"sluice run: unexpected argument \"sluice.yaml\"\n",
		},
		{
			"unknown command on certificates",
			[]string{"certificates", "renwe"},
			2, "",
			"sluice certificates: unknown command \"renwe\"; one of list, renew, import, export\n",
		},
		{
			"no name to renew",
			[]string{"certificates", "renew"},
			2, "",
			"sluice certificates renew: name a host name of the certificate\n",
		},
		{
			"no file to import",
			[]string{"certificates", "import", "--dry-run"},
			2, "",
			"sluice certificates import: name a file in the format of acme.json\n",
		},
		{
			"no file to export into",
			[]string{"certificates", "export"},
			2, "",
			"sluice certificates export: name the file that is written\n",
		},
		{
			"no resolver",
			[]string{"certificates", "export", "a.json", "--entryPoints.web.address=:1"},
			2, "",
			"configuration: environment and flags\nsluice certificates export: no certificate resolver uses ACME: there is no " +
				"certificatesResolvers.NAME.acme\n",
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
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}, {"--configFile=x", "--help"}, {"help", "help"}} {
		if result := harness.Run(t, t.TempDir(), nil, args...); result.Code != 0 || result.Stderr != "" ||
			strings.Count(result.Stdout, "\n") > 50 {
			t.Errorf("%q: exit code %d, %s%s", args, result.Code, result.Stdout, result.Stderr)
		}
	}
	for page, wants := range map[string][]string{
		"": {
			"usage: sluice", "explain ", "healthcheck ", "run ", "--configFile=FILE", "exit codes: 0", "entryPoints",
		},
		"all":         {"--configFile string", "--providers.file.directory string", "--log.level string"},
		"entrypoints": {"--entryPoints.<name>.address string"},
		"log.level":   {"--log.level string", "Default: INFO"},
		"unsupported": {"--providers.nomad", "does not start with it"},
		"check":       {"usage: sluice check", "Exit codes: 0", "--format", "examples:"},
	} {
		result := harness.Run(t, t.TempDir(), nil, "help", page)
		for _, want := range wants {
			if !strings.Contains(result.Stdout, want) || result.Code != 0 {
				t.Errorf("help %s: exit code %d, and it lacks %q", page, result.Code, want)
			}
		}
		if page == "all" && strings.Contains(result.Stdout, "providers.nomad") {
			t.Error("the options that do something are mixed with those that do nothing")
		}
	}
	if result := harness.Run(t, t.TempDir(), nil, "help", "log.levle"); result.Code != 2 || result.Stdout != "" ||
		!strings.Contains(result.Stderr, "did you mean log.level?") {
		t.Errorf("help on no option: exit code %d, %s%s", result.Code, result.Stdout, result.Stderr)
	}
	for _, command := range []string{
		"check", "explain", "routes", "environments", "certificates", "healthcheck", "upgrade", "whoami", "version", "run",
		"bundle",
		"inject", "injector", "sidecar", "completion", "migrate",
		"help",
	} {
		result := harness.Run(t, t.TempDir(), nil, command, "--help")
		if result.Code != 0 || !strings.Contains(result.Stdout, "usage: sluice "+command) {
			t.Errorf("%s --help: exit code %d, %s%s", command, result.Code, result.Stdout, result.Stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	result := harness.Run(t, t.TempDir(), nil, "version")
	for _, flag := range []string{"--version", "-v"} {
		if short := harness.Run(t, t.TempDir(), nil, flag); short != result {
			t.Errorf("%s: %+v, want %+v", flag, short, result)
		}
	}
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
