package release

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// expectImage checks the configuration and the binary of each platform in the image layout, and runs that of this one.
func expectImage(t *testing.T, folder string) {
	machines := map[string]elf.Machine{"linux_amd64": elf.EM_X86_64, "linux_arm64": elf.EM_AARCH64}
	if !all() {
		machines = map[string]elf.Machine{host(): machines[host()]}
	}
	layout := t.TempDir()
	command(t, folder, "tar", "-xf", "sluice_1.0.0_image.tar", "-C", layout)
	var top, images index
	decode(t, layout, "index.json", &top)
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.0.0" {
		t.Fatalf("the layout has %+v", top.Manifests)
	}
	decode(t, layout, blob(top.Manifests[0].Digest), &images)
	for _, image := range images.Manifests {
		platform := image.Platform.OS + "_" + image.Platform.Architecture
		t.Run(platform, func(t *testing.T) {
			root := expectPlatform(t, layout, platform, image.Digest)
			binary, err := elf.Open(filepath.Join(root, "sluice"))
			if err != nil {
				t.Fatal(err)
			}
			defer binary.Close() //nolint:errcheck // It was read only.
			if want := machines[platform]; binary.Machine != want {
				t.Errorf("the binary is for %v, want %v", binary.Machine, want)
			}
			if platform == host() {
				runImage(t, root)
			}
		})
		delete(machines, platform)
	}
	if len(machines) > 0 {
		t.Errorf("there is no image for %v", machines)
	}
}

// index is an image index of an OCI layout.
type index struct {
	Manifests []struct {
		Digest      string
		Platform    struct{ OS, Architecture string }
		Annotations map[string]string
	}
}

// blob is the file of a digest in a layout.
func blob(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

func decode(t *testing.T, folder, name string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, folder, name)), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// expectPlatform checks the configuration of one image and returns a folder with its files.
func expectPlatform(t *testing.T, layout, platform, digest string) string {
	t.Helper()
	var manifest struct {
		Config struct{ Digest string }
		Layers []struct{ Digest string }
	}
	decode(t, layout, blob(digest), &manifest)
	type settings struct {
		User         string
		Entrypoint   []string
		ExposedPorts map[string]struct{}
		Labels       map[string]string
	}
	var config struct {
		OS, Architecture string
		Config           settings
	}
	decode(t, layout, blob(manifest.Config.Digest), &config)
	if got := config.OS + "_" + config.Architecture; got != platform {
		t.Errorf("the configuration is that of %s", got)
	}
	if got := config.Config.Labels["org.opencontainers.image.version"]; got != "1.0.0" {
		t.Errorf("the label of the version is %q", got)
	}
	config.Config.Labels = nil
	want := settings{
		User: "65532:65532", Entrypoint: []string{"/sluice"},
		ExposedPorts: map[string]struct{}{"80/tcp": {}, "443/tcp": {}, "8080/tcp": {}},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("configuration (-want +got)\n%s", diff)
	}
	if len(manifest.Layers) != 1 {
		t.Fatalf("%d layers, want 1", len(manifest.Layers))
	}
	root := filepath.Join(t.TempDir(), "rootfs")
	if err := os.Mkdir(root, 0o755); err != nil { //nolint:gosec // The user of the image reads it.
		t.Fatal(err)
	}
	command(t, layout, "tar", "-xzf", blob(manifest.Layers[0].Digest), "-C", root)
	return root
}

// runImage runs `/sluice version` in a container with these files, as the user of the image.
func runImage(t *testing.T, root string) {
	if os.Geteuid() != 0 {
		t.Skip("missing right: root, to run a container")
	}
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("missing tool: runc (`.ci/tools machine` installs it)")
	}
	bundle := filepath.Dir(root)
	command(t, bundle, "runc", "spec")
	spec := strings.NewReplacer(`"terminal": true`, `"terminal": false`, `"sh"`, `"/sluice", "version"`,
		`"uid": 0`, `"uid": 65532`, `"gid": 0`, `"gid": 65532`).Replace(read(t, bundle, "config.json"))
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("sluice-test-%d", os.Getpid())
	got := command(t, bundle, "runc", "--root", filepath.Join(bundle, "state"), "run", name)
	if !strings.HasPrefix(got, "version: v1.0.0\n") {
		t.Errorf("sluice version: %s", got)
	}
}
