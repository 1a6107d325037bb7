// Package peers holds the configurations of Sluice, its peers and their endpoint in the comparison, as text/template
// files. Every proxy has the same job: it listens on a plain and a TLS port, routes by host, sends forwarded headers,
// keeps connections to the endpoint open, and writes no log. Those in the folder relay are of routers for TCP and UDP:
// on the plain port everything is passed on, on the TLS port TLS ends, and on a third port TLS passes; both are routed
// by the server name. The measured rows are the table in compare.
package peers

import "embed"

// Files are the configurations by their names.
//
//go:embed *.conf *.cfg Caddyfile *.yaml relay
var Files embed.FS
