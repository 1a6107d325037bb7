// Command testsummary runs every test of the module, and of those below sdk, and ends with one line:
// "N passed, N failed, N skipped".
//
// Unit tests run under the race detector, those of integration/ without it. It prints the output of failures, the
// reasons of skips, and the summary; the exit code is 1 if anything failed. Every test and subtest counts as one; a
// package that does not build, or exits outside of its tests, counts as one failure. With CI=true a skip is a failure,
// except for the one test whose tool and database may be unavailable. Tests are not retried.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with explicit dependencies; its result is the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("testsummary", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "run one phase alone: unit or integration")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	tally := newTally(stdout, os.Getenv("CI") == "true")
	phases, err := plan(ctx, *only, compilerPresent())
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "testsummary: %v\n", err)
		tally.fail("the list of packages")
	}
	for _, phase := range phases {
		if phase.lacks != "" {
			tally.skip(phase.name, phase.lacks)
		}
		if err := execute(ctx, phase, tally, stderr); err != nil {
			_, _ = fmt.Fprintf(stderr, "testsummary: %s: %v\n", phase.name, err)
			tally.fail(phase.name)
		}
	}
	return tally.finish()
}

// compilerPresent reports whether there is a C compiler, which the race detector needs.
func compilerPresent() bool {
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "gcc"
	}
	_, err := exec.LookPath(strings.Fields(compiler)[0])
	return err == nil
}

// execute runs one phase and adds its events to the tally. Its error is a failure of go itself.
func execute(ctx context.Context, phase phase, tally *tally, stderr io.Writer) error {
	if len(phase.packages) == 0 {
		return nil
	}
	args := append([]string{"test", "-json"}, phase.flags...)
	command := exec.CommandContext(ctx, "go", append(args, phase.packages...)...)
	command.Dir = phase.dir
	command.Env = append(os.Environ(), phase.env...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stderr = stderr
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	before := tally.failed
	readErr := tally.read(events)
	waitErr := command.Wait()
	if readErr != nil {
		return readErr
	}
	if exit, ok := errors.AsType[*exec.ExitError](waitErr); ok && exit.ExitCode() == 1 && tally.failed > before {
		return nil // its failures are counted already
	}
	return waitErr
}
