package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// StartPeer starts another proxy, such as nginx, which is ended by SIGTERM when the test ends. It gets the files in a
// folder of its own. ${NAME} in their texts and in args is replaced by the variable of that name; DIR is the folder.
// The test is skipped where the program is missing.
func StartPeer(t testing.TB, program string, args []string, files, vars map[string]string) *os.Process {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("missing tool: %v", err)
	}
	dir := t.TempDir()
	pairs := []string{"${DIR}", dir}
	for name, value := range vars {
		pairs = append(pairs, "${"+name+"}", value)
	}
	replacer := strings.NewReplacer(pairs...)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(replacer.Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replaced := make([]string, len(args))
	for i, arg := range args {
		replaced[i] = replacer.Replace(arg)
	}
	command := exec.Command(program, replaced...) //nolint:noctx // ends by a signal
	command.Stdout, command.Stderr = t.Output(), t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	return command.Process
}
