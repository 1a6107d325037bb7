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

// environment is that of the tests, without variables that are options of Sluice.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "SLUICE_") })
}

// Result is the result of a command.
type Result struct {
	// Code is the exit code.
	Code           int
	Stdout, Stderr string
}

// Run runs Sluice with arguments until it ends by itself, for subcommands and invalid configurations. The test fails on
// timeout, or if there are signs of a bug.
func Run(t testing.TB, dir string, env []string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
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
