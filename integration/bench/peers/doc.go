// Package peers holds the configurations with which the comparison runs Sluice and its peers, and the endpoint that
// answers them.
//
// In flows nothing; out flow the files of this folder, which are text/template files: every proxy does the same job
// with them. It listens on a plain and on a TLS port, picks the route by the request's host, tells the endpoint where
// the request came from, keeps connections to the endpoint open, and writes no log.
//
// It never decides what is measured; that is the table of rows in compare.
package peers

import "embed"

// Files are the configurations by their names.
//
//go:embed *.conf *.cfg Caddyfile *.yaml
var Files embed.FS
