package site

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// root is the folder of the module.
	root = "../.."
	// version is what the site of the tests shows.
	version = "v0.0.0-test"
	// timeout is how long a step may take on a machine with other load on it.
	timeout = 5 * time.Minute
)

// tool has .ci/tools install something, unless it is there, and returns the folder of its modules. Where that cannot be
// had, the test is skipped.
func tool(t *testing.T, name string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "tools"), name).Output()
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	folder := lines[len(lines)-1]
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "node_modules"))
	}
	if err != nil {
		t.Skipf("missing tool: %s: %s", name, output)
	}
	return folder
}

// build builds the site into a folder of the test.
func build(t *testing.T) string {
	t.Helper()
	tool(t, "site")
	out := filepath.Join(t.TempDir(), "site")
	run(t, ".", []string{"VERSION=" + version}, filepath.Join(root, ".ci", "docs"), out)
	return out
}

// run runs a program and fails the test with its output when it fails.
func run(t *testing.T, folder string, variables []string, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Env = folder, append(os.Environ(), variables...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, &output)
	}
}

// TestSite builds the site once and reads it.
func TestSite(t *testing.T) {
	out := build(t)
	t.Run("links", func(t *testing.T) { testLinks(t, out) })
	t.Run("browser", func(t *testing.T) {
		modules := tool(t, "browser")
		chromium, err := exec.LookPath("chromium")
		if err != nil {
			t.Skip("missing tool: chromium")
		}
		server := httptest.NewServer(http.FileServer(http.Dir(out)))
		defer server.Close()
		run(t, ".", []string{
			"MODULES=" + modules, "CHROMIUM=" + chromium, "SITE=" + server.URL + "/", "VERSION=" + version,
		}, "node", "browse.mjs")
	})
}

// TestDeadLinkFailsTheBuild builds a repository of one page, whose link leads nowhere.
func TestDeadLinkFailsTheBuild(t *testing.T) {
	modules := tool(t, "site")
	folder := t.TempDir()
	for name, content := range map[string]string{
		"README.md":                     "# One\n\n[two](docs/two.md), `[three](docs/three.md)`\n",
		"api/dashboard/static/icon.svg": "<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(folder, "docs", "site"), os.DirFS(filepath.Join(root, "docs", "site"))); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "node", "docs/site/build.mjs", "out")
	command.Dir, command.Env = folder, append(os.Environ(), "MODULES="+modules)
	output, err := command.CombinedOutput()
	if want := "README.md:3: links to docs/two.md, which does not exist\n"; err == nil || string(output) != want {
		t.Errorf("got %v and %q, want a failure with %q", err, output, want)
	}
}
