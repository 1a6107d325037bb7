// Package static is the configuration that Sluice reads once, when it starts: entrypoints, providers, logs.
//
// A file (YAML or TOML), environment variables and command line flags flow in; one [Configuration] flows out,
// with every default filled in, and a list of findings that name file, line and option.
// Every static option of Traefik v3 is known here by name; the support tag on a field says what happens
// to one that Sluice does not act upon.
//
// The package holds data. It opens no socket, starts no goroutine, constructs nothing that the options describe, and
// does not read the dynamic configuration.
package static
