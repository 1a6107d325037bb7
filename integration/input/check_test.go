package input

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// Files are recognised by what they hold, and need neither a cluster nor an engine.
func TestCheckFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "check")
	for _, test := range []struct{ name, file, format string }{
		{"dynamic", "dynamic.yaml", "text"},
		{"dynamic-json", "dynamic.yaml", "json"},
		{"dynamic-github", "dynamic.yaml", "github"},
		{"manifests", "manifests.yaml", "text"},
		{"environments", "environments.yaml", "text"},
		{"compose", "compose.yaml", "text"},
		{"inspect", "inspect.json", "text"},
	} {
		result := harness.Run(t, dir, nil, "check", test.file, "--format", test.format)
		golden(t, "check/"+test.name+".golden", result.Stdout)
		if result.Code != 1 || result.Stderr != "" {
			t.Errorf("%s: exit code %d, %s", test.name, result.Code, result.Stderr)
		}
	}
}

func TestCheckAFolderAndStandardInput(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "check")
	text, err := os.ReadFile(filepath.Join(dir, "dynamic.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	result := harness.Run(t, folder, nil, "check", ".")
	if result.Code != 1 || !strings.HasPrefix(result.Stdout, "a.yaml:12: middleware bad@file: ") {
		t.Errorf("a folder: exit code %d, %s%s", result.Code, result.Stdout, result.Stderr)
	}
	for _, name := range []string{"dynamic.yaml", "manifests.yaml"} {
		input, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), harness.Binary(t), "check", "-")
		command.Stdin = input
		output, err := command.Output()
		_ = input.Close()
		if err == nil || !strings.HasPrefix(string(output), "stdin:") ||
			!strings.Contains(string(output), "\nstandard input: the configuration is not valid: ") {
			t.Errorf("standard input: %v: %s", err, output)
		}
	}
	if result := harness.Run(t, folder, nil, "check", "absent.yaml"); result.Code != 2 ||
		!strings.Contains(result.Stderr, "absent.yaml: no such file or directory") {
		t.Errorf("no such file: exit code %d, %s", result.Code, result.Stderr)
	}
}

func TestCheckAsSARIF(t *testing.T) {
	t.Parallel()
	result := harness.Run(t, filepath.Join("testdata", "check"), nil, "check", "dynamic.yaml", "--sarif")
	var log struct {
		Version string
		Runs    []struct {
			Results []struct {
				RuleID, Level string
				Locations     []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(result.Stdout), &log); err != nil || result.Code != 1 {
		t.Fatalf("exit code %d, %v: %s", result.Code, err, result.Stdout)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || len(log.Runs[0].Results) != 1 {
		t.Fatalf("%+v", log)
	}
	found := log.Runs[0].Results[0]
	if where := found.Locations[0].PhysicalLocation; found.RuleID != "InvalidOption" || found.Level != "error" ||
		where.ArtifactLocation.URI != "dynamic.yaml" || where.Region.StartLine != 12 {
		t.Errorf("%+v", found)
	}
}

func TestCheckOffline(t *testing.T) {
	t.Parallel()
	result := harness.Run(t, t.TempDir(), nil, "check", "--offline", "--providers.docker=true",
		"--providers.kubernetesCRD=true", "--json")
	var report struct {
		Valid   bool
		Skipped []string
	}
	if err := json.Unmarshal([]byte(result.Stdout), &report); err != nil || result.Code != 0 || !report.Valid ||
		strings.Join(report.Skipped, " ") != "docker kubernetescrd" {
		t.Errorf("exit code %d, %v: %s%s", result.Code, err, result.Stdout, result.Stderr)
	}
}

// Commands without a configuration do not answer about an empty one. (Another process may serve an API on port 8080 of
// this machine: then its configuration is the answer.)
func TestNoConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{{"check"}, {"routes"}, {"explain", "GET", "http://a.test/"}} {
		result := harness.Run(t, dir, []string{"HOME=" + dir, "XDG_CONFIG_HOME="}, args...)
		said := result.Stdout + result.Stderr
		if !strings.Contains(said, "the running Sluice at http://127.0.0.1:8080") && (result.Code != 2 ||
			!strings.Contains(said, "no configuration was found") || !strings.Contains(said, filepath.Join(dir, ".config"))) {
			t.Errorf("%q: exit code %d, %s", args, result.Code, said)
		}
	}
}

func TestCheckARunningSluice(t *testing.T) {
	t.Parallel()
	s := startExplain(t)
	s.Until("the verdicts", func(r harness.Readiness) bool { return r.Quarantined == 2 })
	result := harness.Run(t, t.TempDir(), nil, "check", "--api", s.Addr("traefik"))
	want := "the running Sluice at http://" + s.Addr("traefik") + ": the configuration is not valid: "
	if result.Code != 1 || !strings.Contains(result.Stdout, want) || !strings.Contains(result.Stdout, "closed@file") {
		t.Errorf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
}

func TestRoutesFilteredAndShortened(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "check")
	option := "--providers.file.filename=dynamic.yaml"
	for _, columns := range []int{60, 80, 100} {
		result := harness.Run(t, dir, []string{fmt.Sprintf("COLUMNS=%d", columns)}, "routes", "sticky", option,
			"--entryPoints.plain.address=127.0.0.1:0")
		if result.Code != 0 || !strings.Contains(result.Stdout, "sticky@file") {
			t.Errorf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
		}
		for _, row := range lines(result.Stdout) {
			if len([]rune(row)) > columns {
				t.Errorf("%d columns, not %d: %s", len([]rune(row)), columns, row)
			}
		}
	}
	result := harness.Run(t, dir, nil, "routes", "nothing-like-this", option, "--entryPoints.plain.address=127.0.0.1:0")
	if result.Code != 1 || !strings.Contains(result.Stderr, `has "nothing-like-this" in its name`) {
		t.Errorf("exit code %d: %s", result.Code, result.Stderr)
	}
}

func TestExplainOfTCP(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{
		":5432": "no TCP router takes the connection", ":db.test": "is not of the form [HOST]:PORT",
		"db.test": "is not of the form [HOST]:PORT",
	} {
		code := 1
		if strings.HasPrefix(want, "is not") {
			code = 2
		}
		result := harness.Run(t, t.TempDir(), nil, "explain", "tcp", argument, "--entryPoints.db.address=127.0.0.1:5432")
		if result.Code != code || !strings.Contains(result.Stdout+result.Stderr, want) {
			t.Errorf("%s: exit code %d, %s%s", argument, result.Code, result.Stdout, result.Stderr)
		}
	}
}
