package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

// routesCommand prints the effective table.
func (p *process) routesCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "routes [FILTER] [--json] [--wide] [--api URL]",
		Short: "print the routers in the order in which they are tried",
		Long: "Print the routers in the order in which they are tried, or those that have FILTER in their name, rule,\n" +
			"service or entrypoints. Without any configuration, the Sluice that runs on this machine answers. The first\n" +
			"line of standard error says what answers. On a terminal, or with COLUMNS set, long columns are shortened, and\n" +
			"where they do not fit, each column has its own line.\n\n" +
			"Exit codes: 0 when there is a router, 1 when there is none, 2 when the configuration or the arguments are wrong.",
		Example:           "  sluice routes --api http://127.0.0.1:8080",
		ValidArgsFunction: completeOptions(nil),
	}
	asJSON := command.Flags().Bool("json", false, "print JSON")
	api := command.Flags().String(apiFlag, "", "query the running Sluice whose API is at this `URL`")
	wide := command.Flags().Bool("wide", false, "print a table with whole columns")
	p.takes(command, 1, true, func(given arguments) int {
		look := tableLook{json: *asJSON}
		if !*wide {
			look.width = widthOf(p.stdout)
		}
		return p.routes(strings.Join(given.positional, ""), *api, look, given.options)
	})
	return command
}

// routes prints the routers that contain filter, and returns the exit code. What it answers from is the first line of
// stderr.
func (p *process) routes(filter, api string, look tableLook, options []string) int {
	from, err := findSource(api, static.Sources{Args: options, Environ: p.environ})
	var listings []router.Listing
	switch {
	case err != nil:
	case from.api != "":
		say(p.stderr, "configuration: %s\n", from.String())
		err = queryAPI(from.api, "routes", nil, &listings)
	default:
		say(p.stderr, "configuration: %s\n", from.String())
		var s *settled
		if s, err = settleSource(from, p.stderr); err == nil {
			listings = s.target.Table().Routes()
			s.printConcerned(p.stderr, nil)
		}
	}
	if err != nil {
		say(p.stderr, "sluice routes: %v\n", err)
		return exitBroken
	}
	all := len(listings)
	listings = slices.DeleteFunc(listings, func(l router.Listing) bool { return !listed(l, filter) })
	if look.json {
		printJSON(p.stdout, listings)
	} else {
		printRoutes(p.stdout, listings, look.width)
	}
	if len(listings) == 0 {
		if all > 0 {
			say(p.stderr, "sluice routes: none of %d routers has %q in its name, rule, service or entrypoints\n", all, filter)
		} else {
			say(p.stderr, "sluice routes: there is no router\n")
		}
		return exitNone
	}
	return exitFine
}

// tableLook is how routers are printed: as JSON, or as a table of at most so many columns, 0 for any number.
type tableLook struct {
	json  bool
	width int
}

// listed reports whether a router contains a text; case does not count.
func listed(l router.Listing, filter string) bool {
	text := strings.Join([]string{l.Name, l.Rule, l.Service, strings.Join(l.EntryPoints, "\n")}, "\n")
	return strings.Contains(strings.ToLower(text), strings.ToLower(filter))
}
