package dashboard

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

var update = flag.Bool("update", false, "take the pictures in docs/images anew")

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// root is the folder of the module.
const root = "../.."

// timeout is how long a scenario may take.
const timeout = 8 * time.Minute

// browser is Chromium and what drives it.
type browser struct{ node, chromium, modules string }

// newBrowser has .ci/tools install what drives the browser, unless it is there. Where it cannot be had, the test is
// skipped.
func newBrowser(t *testing.T) browser {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "tools"), "browser").Output()
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	found := browser{modules: lines[len(lines)-1]}
	if err == nil {
		_, err = os.Stat(filepath.Join(found.modules, "node_modules"))
	}
	if err == nil {
		found.node, err = exec.LookPath("node")
	}
	if err == nil {
		found.chromium, err = exec.LookPath("chromium")
	}
	if err != nil {
		t.Skipf("missing tool: a browser and what drives it: %s", output)
	}
	return found
}

// run runs a scenario on the dashboard below path, and fails the test with what it complains about.
func (b browser) run(t *testing.T, s *harness.Sluice, path, scenario string) {
	t.Helper()
	images, err := filepath.Abs(filepath.Join(root, "docs", "images"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	command := exec.CommandContext(ctx, b.node, "browse.mjs", scenario)
	command.Dir = "browse"
	command.Env = append(os.Environ(),
		"MODULES="+b.modules, "CHROMIUM="+b.chromium, "IMAGES="+images, "DYNAMIC="+s.DynamicDir,
		"DASHBOARD=http://"+s.Addr("traefik")+path, "TRAFFIC=http://"+s.Addr("web"))
	var complaint bytes.Buffer
	command.Stderr = &complaint
	if err := command.Run(); err != nil {
		t.Errorf("%s: %v\n%s", scenario, err, &complaint)
	}
}
