// Command sluice is the edge router: it wires the stages together and does nothing else.
//
// Input: the command line, the environment and a static configuration. Result: a running router, or the answers of
// the subcommands check, explain and routes, which load the same configuration and do not listen. It decides nothing
// about a request or an object itself.
package main

import (
	"io"
	"os"
	"strings"

	_ "golang.org/x/crypto/x509roots/fallback" // An image FROM scratch has no certificate roots of its own.

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/static"
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run chooses the subcommand; its result is the exit code.
func run(args, environ []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "" || args[0][0] == '-' {
		if wantsHelp(args) {
			return help(stdout)
		}
		return serve(args, environ, stderr)
	}
	rest := args[1:]
	switch args[0] {
	case "run":
		return run(rest, environ, stdout, stderr)
	case "check":
		return check(rest, environ, stdout, stderr)
	case "explain":
		return explain(rest, environ, stdout, stderr)
	case "routes":
		return routes(rest, environ, stdout, stderr)
	case "whoami":
		return whoami(rest, stdout, stderr)
	case "healthcheck":
		return healthcheck(rest, environ, stdout, stderr)
	case "bundle":
		return supportBundle(rest, environ, stdout, stderr)
	case "version":
		return version(rest, stdout, stderr)
	case "help":
		return help(stdout)
	}
	commands := []string{"run", "check", "explain", "routes", "healthcheck", "bundle", "whoami", "version", "help"}
	hint := "one of " + strings.Join(commands, ", ")
	if near, ok := document.Nearest(args[0], commands); ok {
		hint = "did you mean " + near + "?"
	}
	say(stderr, "sluice: unknown command %q; %s\n", args[0], hint)
	return exitBroken
}

func wantsHelp(args []string) bool {
	for _, arg := range args {
		if arg == "--help" || arg == "-help" || arg == "-h" {
			return true
		}
	}
	return false
}

const usage = `Sluice routes HTTP traffic to endpoints. It reads Traefik v3's configuration unchanged.

usage: sluice [--configFile=FILE] [--OPTION=VALUE ...]   run
       sluice COMMAND [arguments]

commands:
  check        validate the static and the dynamic configuration without listening
  explain      say which router answers a request, and why: sluice explain METHOD URL [-H 'K: V']
  routes       print the effective table of routers
  healthcheck  request /ready of a running Sluice
  bundle       write one archive of all that support needs, without secrets
  whoami       serve an endpoint that answers with what it received
  version      print version, commit and Go version
  help         print this

sluice COMMAND --help prints a command's flags. SIGTERM drains and stops, SIGHUP reads the files again.
Options come from a file, the environment (SLUICE_...) and flags; later ones override earlier ones.

`

// help prints the commands and every option of the static configuration.
func help(stdout io.Writer) int {
	if _, err := io.WriteString(stdout, usage); err != nil {
		return 1
	}
	if err := static.WriteHelp(stdout); err != nil {
		return 1
	}
	return 0
}
