// Command sluice is the edge router: it wires the stages together and does nothing else.
//
// Input: the command line, the environment and a static configuration. Result: a running router, or the answers of
// the subcommands check, explain and routes, which load the same configuration and do not listen. It decides nothing
// about a request or an object itself.
package main

import (
	"errors"
	"io"
	"os"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // An image FROM scratch has no certificate roots of its own.
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run chooses the subcommand; its result is the exit code.
func run(args, environ []string, stdout, stderr io.Writer) int {
	out := &output{to: stdout}
	p := &process{environ: environ, stdout: out, stderr: stderr}
	root := p.rootCommand()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	if err := root.Execute(); err != nil {
		say(stderr, "sluice: %v\n", err)
		return exitBroken
	}
	if out.err != nil && p.code == exitFine && !errors.Is(out.err, syscall.EPIPE) {
		say(stderr, "sluice: the output is not complete: %v\n", out.err)
		return exitBroken
	}
	return p.code
}
