package release

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRelease makes two releases, of which the second has another default configuration, and tests all their parts.
func TestRelease(t *testing.T) {
	r := newRepository(t)
	r.tag(t, "v1.0.0")
	t.Run("a version needs a section of the changelog", func(t *testing.T) {
		output, err := try(t, string(r), "make", "--silent", "release")
		if err == nil || !strings.Contains(output, `CHANGELOG.md has no section "## 1.0.0 - DATE"`) {
			t.Errorf("%v: %s", err, output)
		}
	})
	r.edit(t, "CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n## 1.0.0 - 2026-01-01\n")
	command(t, string(r), "git", "tag", "--delete", "v1.0.0")
	r.tag(t, "v1.0.0")
	first := r.clone(t).release(t)
	t.Run("files", func(t *testing.T) { expectFiles(t, first) })
	t.Run("archive", func(t *testing.T) { expectArchive(t, first) })
	t.Run("image", func(t *testing.T) { expectImage(t, first) })
	t.Run("the same commit yields the same bytes", func(t *testing.T) {
		if want, got := read(t, first, "SHA256SUMS"), read(t, r.release(t), "SHA256SUMS"); got != want {
			t.Errorf("in another folder:\n%s\nand before:\n%s", got, want)
		}
	})
	t.Run("lint", func(t *testing.T) { lint(t, first) })

	r.edit(t, "deploy/package/sluice.yaml", "ping: {}\n", "ping: {}\n\nlog:\n  level: INFO\n")
	r.edit(t, "CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n## 1.1.0 - 2026-01-02\n\n- Another default.\n")
	r.tag(t, "v1.1.0")
	second := r.release(t)
	if want, got := "- Another default.\n\n", read(t, second, "NOTES.md"); got != want {
		t.Errorf("the notes are %q, want %q", got, want)
	}
	t.Run("Debian", func(t *testing.T) { debian(t, first, second) })
	t.Run("RPM", func(t *testing.T) { redHat(t, first, second) })
}

// host is the ending of the files for this platform, before their format.
func host() string { return "linux_" + runtime.GOARCH }

func read(t *testing.T, folder, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// expectFiles checks that each file of a release is there, once, with its checksum.
func expectFiles(t *testing.T, folder string) {
	want := []string{"NOTES.md", "sluice-1.0.0.tgz", "sluice_1.0.0_image.tar"}
	built := []string{host()}
	if all() {
		built = []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"}
	}
	for _, platform := range built {
		want = append(want, "sluice_1.0.0_"+platform+".tar.gz", "sluice_1.0.0_"+platform+".cdx.json")
		if strings.HasPrefix(platform, "linux") {
			want = append(want, "sluice_1.0.0_"+platform+".deb", "sluice_1.0.0_"+platform+".rpm")
		}
	}
	sums := read(t, folder, "SHA256SUMS")
	for _, name := range want {
		if strings.Count(sums, "  "+name+"\n") != 1 {
			t.Errorf("SHA256SUMS does not name %s:\n%s", name, sums)
		}
	}
	if lines := strings.Count(sums, "\n"); lines != len(want) {
		t.Errorf("SHA256SUMS has %d lines, want %d:\n%s", lines, len(want), sums)
	}
	command(t, folder, "sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS")
}

// expectArchive unpacks the archive of this platform and compares it with the bill of materials.
func expectArchive(t *testing.T, folder string) {
	to := t.TempDir()
	command(t, folder, "tar", "-xzf", "sluice_1.0.0_"+host()+".tar.gz", "-C", to)
	top := filepath.Join(to, "sluice_1.0.0_"+host())
	if got := command(t, top, "./sluice", "version"); !strings.HasPrefix(got, "version: v1.0.0\n") {
		t.Errorf("sluice version: %s", got)
	}
	for _, name := range []string{
		"LICENSE", "README.md", "CHANGELOG.md", "THIRD-PARTY-LICENSES", "sluice.yaml", "sluice.service", "logrotate",
		"man/sluice.1", "man/sluice.yaml.5", "completions/sluice.bash", "completions/_sluice", "completions/sluice.fish",
	} {
		if read(t, top, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	build, err := buildinfo.ReadFile(filepath.Join(top, "sluice"))
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		Metadata   struct{ Component struct{ Version string } }
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal([]byte(read(t, folder, "sluice_1.0.0_"+host()+".cdx.json")), &bill); err != nil {
		t.Fatal(err)
	}
	if bill.Metadata.Component.Version != "v1.0.0" {
		t.Errorf("the bill of materials is of version %s", bill.Metadata.Component.Version)
	}
	listed := map[string]string{}
	for _, component := range bill.Components {
		listed[component.Name] = component.Version
	}
	licences := read(t, top, "THIRD-PARTY-LICENSES")
	for _, module := range build.Deps {
		if listed[module.Path] != module.Version {
			t.Errorf("the bill of materials has %s in version %q, the binary in %s", module.Path, listed[module.Path], module.Version)
		}
		if !strings.Contains(licences, " "+module.Path+" "+module.Version+" ") {
			t.Errorf("there is no licence of %s", module.Path)
		}
	}
}
