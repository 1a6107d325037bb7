package operations

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/telemetry/log"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryCodeIsExplained holds the codes of the source against the table of the page, both ways.
func TestEveryCodeIsExplained(t *testing.T) {
	code := regexp.MustCompile(`Code[A-Z]\w+\s+Code = "(\w+)"`)
	known := map[string]bool{}
	for _, match := range code.FindAllStringSubmatch(page(t, "telemetry/code.go"), -1) {
		known[match[1]] = true
	}
	if len(known) < 15 {
		t.Fatalf("only %d codes are found", len(known))
	}
	_, table, _ := strings.Cut(page(t, "docs/operations.md"), "\n## Codes\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, match := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		if !known[match[1]] {
			t.Errorf("docs/operations.md explains %s, and there is no such code", match[1])
		}
		delete(known, match[1])
	}
	for code := range known {
		t.Errorf("docs/operations.md does not explain the code %s", code)
	}
}

// TestEverySubsystemIsExplained checks that all names of log.levels are documented and used.
func TestEverySubsystemIsExplained(t *testing.T) {
	text, source := page(t, "docs/logging.md"), page(t, "telemetry/log/subsystems.go")
	files, err := filepath.Glob("../../cmd/sluice/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	used := ""
	for _, file := range files {
		used += page(t, "cmd/sluice/"+filepath.Base(file))
	}
	for _, name := range log.Subsystems() {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/logging.md does not explain the subsystem %s", name)
		}
		constant := regexp.MustCompile(`(Subsystem\w+)\s+= "` + regexp.QuoteMeta(name) + `"`).FindStringSubmatch(source)
		if constant == nil || !strings.Contains(used, "log."+constant[1]+")") {
			t.Errorf("no logger of the subsystem %s is made", name)
		}
	}
}
