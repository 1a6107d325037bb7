// Package peers holds the configurations of Sluice, its peers and their endpoint in the comparison, as text/template
// files. Every proxy has the same job: it listens on a plain and a TLS port, routes by host, sends forwarded headers,
// keeps connections to the endpoint open, and writes no log. The measured rows are the table in compare.
package peers

import "embed"

// Files are the configurations by their names.
//
//go:embed *.conf *.cfg Caddyfile *.yaml
var Files embed.FS
