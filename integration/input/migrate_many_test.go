package input

import (
	"os"
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
	const count, mostLines = 2000, 2000
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "all.yaml"), []byte(manyIngresses(count)), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	result := harness.Run(t, folder, nil, "migrate", "ingress-nginx", "-f", "all.yaml")
	t.Logf("%d Ingresses: %v", count, time.Since(begin))
	if result.Code != 1 || result.Stderr != "" || !strings.Contains(result.Stdout, "Ingresses: 2000 (") {
		t.Fatalf("exit code %d, %s%.2000s", result.Code, result.Stderr, result.Stdout)
	}
	if lines := strings.Count(result.Stdout, "\n"); lines > mostLines {
		t.Errorf("the report has %d lines", lines)
	}
	if strings.Contains(result.Stdout, "without an answer") {
		t.Errorf("probes have no answer: %.2000s", result.Stdout)
	}
}
