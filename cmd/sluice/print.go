package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/sluiceproxy/sluice/router"
)

// printJSON writes an answer as indented JSON.
func printJSON(out io.Writer, answer any) {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(answer)
}

// printExplanation writes an explanation for people.
func printExplanation(out io.Writer, answer router.Explanation) {
	scheme := "plain"
	if answer.TLS {
		scheme = "TLS"
	}
	say(out, "%s %q on host %q, entrypoint %s (%s)\n", answer.Method, answer.Path, answer.Host, answer.EntryPoint, scheme)
	if answer.Router != nil {
		say(out, "router      %s, priority %d\n", answer.Router.Name, answer.Router.Priority)
		say(out, "  rule      %s\n", answer.Router.Rule)
		printWhy(out, "  because   ", answer.Router.Why)
	}
	for i, name := range answer.Middlewares {
		say(out, "middleware  %d. %s\n", i+1, name)
	}
	if answer.Service != nil {
		printService(out, *answer.Service, "")
	}
	if answer.Status != 0 {
		say(out, "answer      %d: %s\n", answer.Status, answer.Reason)
	}
	for i, candidate := range answer.Next {
		say(out, "next %d      %s, priority %d\n", i+1, candidate.Name, candidate.Priority)
		say(out, "  rule      %s\n", candidate.Rule)
		reason := "  not, as   "
		if candidate.Matches {
			reason = "  comes after"
			candidate.Why = []string{"it matches too, and is asked later"}
		}
		printWhy(out, reason, candidate.Why)
	}
}

func printWhy(out io.Writer, label string, reasons []string) {
	for _, reason := range reasons {
		say(out, "%s %s\n", strings.TrimRight(label, " "), reason)
	}
}

func printService(out io.Writer, service router.ServiceStanding, indent string) {
	say(out, "service     %s%s (%s)", indent, service.Name, service.Kind)
	if indent != "" {
		say(out, ", weight %d", service.Weight)
	}
	if len(service.Middlewares) > 0 {
		say(out, ", middlewares %s", strings.Join(service.Middlewares, ", "))
	}
	say(out, "\n")
	for _, endpoint := range service.Endpoints {
		say(out, "  endpoint  %s%s://%s, share %d\n", indent, endpoint.Scheme, endpoint.Address, endpoint.Share)
	}
	for _, branch := range service.Services {
		printService(out, branch, indent+"  ")
	}
}

// printRoutes writes the effective table.
func printRoutes(out io.Writer, listings []router.Listing) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say(table, "ROUTER\tENTRYPOINTS\tRULE\tPRIORITY\tTLS\tMIDDLEWARES\tSERVICE\tSTATUS\n")
	for _, listing := range listings {
		status := listing.Status
		if listing.Reason != "" {
			status += ": " + listing.Reason
		}
		say(table, "%s\t%s\t%s\t%d\t%t\t%s\t%s\t%s\n", listing.Name, strings.Join(listing.EntryPoints, ","), listing.Rule,
			listing.Priority, listing.TLS, strings.Join(listing.Middlewares, ","), listing.Service, status)
	}
	_ = table.Flush()
}

func say(out io.Writer, format string, arguments ...any) {
	_, _ = fmt.Fprintf(out, format, arguments...)
}
