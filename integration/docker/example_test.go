package docker

import (
	"bufio"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// composeFile is the example.
const composeFile = "../../deploy/examples/docker/docker-compose.yaml"

// TestExample runs the example as a user would, with the image that the Dockerfile describes.
func TestExample(t *testing.T) {
	if _, err := exec.LookPath("docker-compose"); err != nil {
		t.Skip("missing tool: docker-compose")
	}
	e := startEngine(t)
	e.importImage("sluice", "dev", staticBinary(t), "sluice", dockerfile(t)...)
	compose(t, "up", "-d")
	t.Cleanup(func() { compose(t, "down", "--timeout", "1") })
	shop := harness.NewClient(t, harness.H1, "127.0.0.1:8080", "shop.localhost", nil)
	blog := harness.NewClient(t, harness.H1, "127.0.0.1:8080", "blog.localhost", nil)
	replicas := func(want int) {
		t.Helper()
		eventually(t, "the containers of shop take turns", func() bool {
			names := map[string]bool{}
			for range 20 {
				answer, err := shop.Try(shop.Request("GET", "/", nil))
				if err != nil || answer.StatusCode != 200 {
					return false
				}
				names[hostname(answer.Text)] = true
			}
			return len(names) == want
		})
	}
	replicas(3)
	eventually(t, "the blog answers", func() bool {
		answer, err := blog.Try(blog.Request("GET", "/", nil))
		return err == nil && answer.StatusCode == 200 && answer.Header.Get("X-Frame-Options") == "DENY"
	})
	compose(t, "up", "-d", "--scale", "shop=5")
	replicas(5)
	eventually(t, "Sluice is healthy", func() bool { return strings.Contains(compose(t, "ps", "sluice"), "(healthy)") })
	t.Run("hand-over", func(t *testing.T) { handOver(t, e.on(t)) })
}

// hostname finds whoami's host name in its response.
func hostname(text string) string {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "Hostname: "); ok {
			return name
		}
	}
	return text
}

// compose runs docker-compose with the example.
func compose(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.Command("docker-compose", append([]string{"-f", composeFile, "-p", "example"}, args...)...) //nolint:noctx // It is also called when the test is over.
	command.Env = append(os.Environ(), "DOCKER_HOST=unix://"+usualSocket, "HOME="+t.TempDir())
	output, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("docker-compose %q: %v\n%s", args, err, output)
	}
	return string(output)
}

// dockerfile returns the image's configuration in the Dockerfile.
func dockerfile(t *testing.T) []string {
	t.Helper()
	file, err := os.Open("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // It is read alone.
	var out []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		word, _, _ := strings.Cut(lines.Text(), " ")
		if slices.Contains([]string{"USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT"}, word) {
			out = append(out, lines.Text())
		}
	}
	if len(out) != 4 {
		t.Fatalf("the Dockerfile says %q", out)
	}
	return out
}

// staticBinary returns the binary under test, or one like it that runs without the system's libraries.
func staticBinary(t *testing.T) string {
	t.Helper()
	path := harness.Binary(t)
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // It is read alone.
	if !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return path
	}
	path = filepath.Join(t.TempDir(), "sluice")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path,
		"../../cmd/sluice")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	return path
}
