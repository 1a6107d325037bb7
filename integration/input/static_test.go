package input

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// refusal is a static configuration with mistakes: a file of testdata/static, or arguments and variables alone.
type refusal struct {
	name string
	file string
	args []string
	env  []string
	// starts is set if Sluice starts in spite of the findings of check.
	starts bool
}

func refusals() []refusal {
	fine := []string{"--entryPoints.web.address=127.0.0.1:0"}
	return []refusal{
		{name: "unknown-options", file: "unknown-options.yaml"},
		{name: "unknown-options-in-toml", file: "unknown-options.toml"},
		{name: "wrong-values", file: "wrong-values.yaml"},
		{name: "bad-addresses", file: "bad-addresses.yaml"},
		{name: "not-supported", file: "not-supported.yaml"},
		{name: "known-without-effect", file: "known-without-effect.yaml", starts: true},
		{name: "half-written", file: "half-written.yaml"},
		{name: "half-written-toml", file: "half-written.toml"},
		{name: "twice", file: "twice.yaml"},
		{name: "references", file: "references.yaml"},
		{name: "absent", file: "absent.yaml"},
		{name: "unknown-flag", args: append(fine, "--entryPoints.web.addresz=:80", "--pign=true")},
		{name: "wrong-flag", args: append(fine, "--log.level=loud", "--providers.file.watch=perhaps")},
		{name: "unknown-variable", args: fine, starts: true, env: []string{
			"SLUICE_ENTRYPOINTS_WEB_ADDRESZ=:80", "SLUICE_LGO_LEVEL=DEBUG", "SLUICE_NOTHING_LIKE_IT=1",
		}},
		{name: "injected-variables", args: fine, starts: true, env: []string{
			"SLUICE_SERVICE_HOST=10.0.0.1", "SLUICE_SERVICE_PORT=80", "SLUICE_SERVICE_PORT_WEB=80",
			"SLUICE_PORT=tcp://10.0.0.1:80",
			"SLUICE_PORT_80_TCP=tcp://10.0.0.1:80", "SLUICE_PORT_80_TCP_PROTO=tcp", "SLUICE_PORT_80_TCP_PORT=80",
			"SLUICE_PORT_80_TCP_ADDR=10.0.0.1", "SLUICE_METRICS_SERVICE_HOST=10.0.0.2",
			"SLUICE_METRICS_PORT_9100_TCP_ADDR=10.0.0.2",
		}},
		{name: "wrong-variable", args: fine, env: []string{"SLUICE_LOG_LEVEL=loud"}},
	}
}

func TestStaticMistakesAreReported(t *testing.T) {
	for _, refusal := range refusals() {
		t.Run(refusal.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := refusal.args
			if refusal.file != "" {
				args = append([]string{"--configFile=" + refusal.file}, args...)
				if text, err := os.ReadFile(filepath.Join("testdata", "static", refusal.file)); err == nil {
					write(t, filepath.Join(dir, refusal.file), string(text))
				}
			}
			checked := harness.Run(t, dir, refusal.env, append([]string{"check"}, args...)...)
			golden(t, "static/"+refusal.name+".golden", checked.Stdout)
			if want := map[bool]int{true: 0, false: 1}[refusal.starts]; checked.Code != want || checked.Stderr != "" {
				t.Errorf("check: exit code %d, want %d; stderr %q", checked.Code, want, checked.Stderr)
			}
			if refusal.starts {
				return
			}
			ran, reported := harness.Run(t, dir, refusal.env, args...), lines(checked.Stdout)
			reported = reported[:max(len(reported)-1, 0)] // The last line is the summary.
			code := 1
			if strings.HasPrefix(ran.Stderr, "flag ") {
				code = 2
			}
			if ran.Code != code || ran.Stdout != "" || !slices.Equal(lines(ran.Stderr), reported) {
				t.Errorf("run: exit code %d, and it says something else than check: %s%s", ran.Code, ran.Stdout, ran.Stderr)
			}
		})
	}
}

func TestVariablesThatAreNoOptionsAreWarnedOf(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Setup{Static: static, Env: []string{
		"SLUICE_LGO_LEVEL=DEBUG",
		"SLUICE_SERVICE_HOST=10.0.0.1",
	}})
	line := s.WaitLog("level=warning", "SLUICE_LGO_LEVEL", "did you mean SLUICE_LOG")
	if log := s.Log.String(); strings.Contains(log, "SERVICE_HOST") {
		t.Errorf("what Kubernetes injects is warned of:\n%s%s", line, log)
	}
}

func TestAPortInUseIsOneLine(t *testing.T) {
	t.Parallel()
	address := backend(t, "occupant")
	result := harness.Run(t, t.TempDir(), nil, "--entryPoints.web.address="+address,
		"--entryPoints.other.address=127.0.0.1:0")
	last := lines(result.Stderr)[len(lines(result.Stderr))-1]
	if result.Code != 1 || !strings.Contains(last, "web") || !strings.Contains(last, address) ||
		!strings.Contains(last, "address already in use") {
		t.Errorf("exit code %d:\n%s", result.Code, result.Stderr)
	}
	if strings.Count(result.Stderr, "level=error") != 1 {
		t.Errorf("more than one line:\n%s", result.Stderr)
	}
}
