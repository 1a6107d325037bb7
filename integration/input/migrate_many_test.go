package input

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestMigrateManyIngresses compares 2,000 Ingresses, all of which remain in a report of a few pages. The time is
// logged: a bound would depend on the machine.
func TestMigrateManyIngresses(t *testing.T) {
	t.Parallel()
	const count, mostLines = 2000, 1500
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "all.yaml"), []byte(manyIngresses(count)), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	command := exec.CommandContext(t.Context(), harness.Binary(t), "migrate", "ingress-nginx", "-f", "all.yaml")
	command.Dir = folder
	output, err := command.Output()
	t.Logf("%d Ingresses: %v", count, time.Since(begin))
	text := string(output)
	if command.ProcessState.ExitCode() != 1 || !strings.Contains(text, "Ingresses: 2000 (") {
		t.Fatalf("%v: %.2000s", err, text)
	}
	if lines := strings.Count(text, "\n"); lines > mostLines {
		t.Errorf("the report has %d lines", lines)
	}
	if strings.Contains(text, "without an answer") {
		t.Errorf("probes have no answer: %.2000s", text)
	}
}
