package house

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGovulncheck checks the code that is called with the vulnerability database. It is skipped if the tool does not
// install or its database is unavailable, which is the one skip that is allowed everywhere.
func TestGovulncheck(t *testing.T) {
	tool := filepath.Join(root(t), ".cache", "bin", "govulncheck")
	if _, err := exec.LookPath(tool); err != nil {
		if tool, err = exec.LookPath("govulncheck"); err != nil {
			t.Skip("missing tool: govulncheck is not installed")
		}
	}
	command := exec.CommandContext(t.Context(), tool, "./...")
	command.Dir = root(t)
	output, err := command.CombinedOutput()
	if err == nil {
		return
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 && strings.Contains(string(output),
		"fetching vulnerabilities") {
		t.Skip("missing tool: govulncheck's database does not answer")
	}
	t.Errorf("govulncheck: %v\n%s", err, output)
}
