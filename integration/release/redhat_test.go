package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// redHat installs, upgrades and removes the RPM in the folder of a system that is not running, with its scripts. The
// system is a Debian one, so that dependencies have no names in RPM's database.
func redHat(t *testing.T, first, second string) {
	needs(t, "rpm")
	tree := unpack(t)
	packages := func(args ...string) string {
		t.Helper()
		return command(t, "/", "rpm", append([]string{"--root=" + tree, "--dbpath=/var/lib/rpm"}, args...)...)
	}
	config := filepath.Join(tree, "etc/sluice/sluice.yaml")
	packages("--initdb")
	packages("--install", "--nodeps", filepath.Join(first, "sluice_1.0.0_"+host()+".rpm"))
	if got := packages("--query", "sluice"); !strings.HasPrefix(got, "sluice-1.0.0-1.") {
		t.Errorf("installed: %s", got)
	}
	if got := packages("--verify", "--nodeps", "sluice"); got != "" {
		t.Errorf("what is installed differs from the package:\n%s", got)
	}
	if !strings.Contains(read(t, tree, "etc/passwd"), "\nsluice:") {
		t.Error("there is no user sluice")
	}
	edited := read(t, tree, "etc/sluice/sluice.yaml") + "# Edited.\n"
	if err := os.WriteFile(config, []byte(edited), 0o644); err != nil { //nolint:gosec // As it was.
		t.Fatal(err)
	}
	packages("--upgrade", "--nodeps", filepath.Join(second, "sluice_1.1.0_"+host()+".rpm"))
	if read(t, tree, "etc/sluice/sluice.yaml") != edited || !strings.Contains(read(t, tree, "etc/sluice/sluice.yaml.rpmnew"), "INFO") {
		t.Error("the upgrade does not keep the edited configuration and put its own beside it")
	}
	if got := command(t, "/", "chroot", tree, "sluice", "version"); !strings.HasPrefix(got, "version: v1.1.0\n") {
		t.Errorf("sluice version: %s", got)
	}
	packages("--erase", "sluice")
	if _, err := os.Stat(filepath.Join(tree, "usr/bin/sluice")); !os.IsNotExist(err) {
		t.Errorf("the binary is still there: %v", err)
	}
	if read(t, tree, "etc/sluice/sluice.yaml.rpmsave") != edited {
		t.Error("the edited configuration is not saved")
	}
}
