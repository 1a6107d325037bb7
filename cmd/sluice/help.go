package main

import (
	"io"

	"github.com/sluiceproxy/sluice/static"
)

const usage = `Sluice routes HTTP traffic to endpoints. It reads Traefik v3's configuration unchanged.

usage: sluice [--configFile=FILE] [--OPTION=VALUE ...]   run
       sluice COMMAND [arguments]

commands:
  check        validate the static and the dynamic configuration without listening
  explain      say which router answers a request, and why: sluice explain METHOD URL [-H 'K: V']
  routes       print the effective table of routers
  healthcheck  ask a running Sluice whether it is ready
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
