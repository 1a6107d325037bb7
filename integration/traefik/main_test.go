package traefik

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

var update = flag.Bool("update", false, "write docs/migrate/traefik-examples.md instead of comparing with it")

const root = "../.."

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// suite has .ci/tools download Traefik, and returns the folder of its integration tests. Where it cannot be had, the
// test is skipped.
func suite(t *testing.T) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "tools"), "fixtures").Output()
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	folder := lines[len(lines)-1]
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "fixtures"))
	}
	if err != nil {
		t.Skipf("missing tool: the configuration files of Traefik's tests: %s", output)
	}
	return folder
}
