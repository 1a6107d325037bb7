package release

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// maxExposure is the exposure that systemd-analyze may find at most, of 10.
const maxExposure = 2.0

// lint checks the package and the unit with the tools of Debian and systemd.
func lint(t *testing.T, folder string) {
	t.Run("lintian", func(t *testing.T) {
		needs(t, "lintian")
		output, err := try(t, folder, "lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0",
			"sluice_1.0.0_"+host()+".deb")
		if err != nil || strings.Contains(output, "unused-override") {
			t.Errorf("%v\n%s", err, output)
		}
	})
	needs(t, "systemd-analyze")
	unit, err := filepath.Abs("../../deploy/systemd/sluice.service")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("exposure", func(t *testing.T) {
		output := command(t, folder, "systemd-analyze", "security", "--no-pager", "--offline=yes", unit)
		_, level, found := strings.Cut(output, "Overall exposure level for sluice.service: ")
		if !found {
			t.Fatal(output)
		}
		level, _, _ = strings.Cut(level, " ")
		if exposure, err := strconv.ParseFloat(level, 64); err != nil || exposure > maxExposure {
			t.Errorf("exposure %q, at most %.1f: %v\n%s", level, maxExposure, err, output)
		}
	})
}

// needs skips the test when a tool is missing.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("missing tool: " + tool + " (`.ci/tools machine` installs it)")
		}
	}
}
