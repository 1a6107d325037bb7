package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// environment is that of the tests, without what would be an option of Sluice.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "SLUICE_") })
}

// Result is how a command ended.
type Result struct {
	// Code is the exit code.
	Code int
	// Stdout and Stderr are what it has written.
	Stdout, Stderr string
}

// Run runs Sluice with arguments until it ends by itself, for subcommands and for configurations with which it does not
// start. The test fails when that takes longer than 20 s, or when there are signs of a bug.
func Run(t testing.TB, dir string, env []string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, Binary(t), args...)
	command.Dir, command.Stdout, command.Stderr = dir, &stdout, &stderr
	command.Env = append(environment(), env...)
	err := command.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || ctx.Err() != nil {
		t.Fatalf("sluice %q: %v\n%s%s", args, err, &stdout, &stderr)
	}
	if sign := trouble.FindString(stderr.String()); sign != "" {
		t.Errorf("sluice %q wrote %q:\n%s", args, sign, &stderr)
	}
	return Result{Code: command.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}
