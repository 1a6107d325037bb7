package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// printFindings writes the findings that an operator should act on, one a line.
func printFindings(out io.Writer, findings []static.Finding) {
	for _, finding := range findings {
		switch finding.Severity {
		case static.Error:
			say(out, "%s\n", finding)
		case static.Warning:
			say(out, "%s (warning)\n", finding)
		case static.Info:
			say(out, "%s (info)\n", finding)
		case static.Debug:
		}
	}
}

// logFindings logs the findings that do not prevent a start.
func logFindings(logger telemetry.Logger, findings []static.Finding) {
	for _, finding := range findings {
		switch finding.Severity {
		case static.Debug:
			logger.Debug(finding.String())
		case static.Info:
			logger.Info(finding.String())
		case static.Error, static.Warning:
			logger.Warn(finding.String())
		}
	}
}

// printJSON writes an answer as indented JSON.
func printJSON(out io.Writer, answer any) {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(answer)
}

// printExplanation writes an explanation for people.
func printExplanation(out io.Writer, answer router.Explanation) {
	say(out, "%s %s on host %s, entrypoint %s, %s\n", answer.Method, plainly(answer.Path), plainly(answer.Host),
		answer.EntryPoint, withTLS(answer.TLS))
	if answer.Guess != "" {
		say(out, "guessed     entrypoint %s: %s\n", answer.EntryPoint, answer.Guess)
	}
	if answer.Router != nil {
		say(out, "router      %s, priority %d\n", answer.Router.Name, answer.Router.Priority)
		say(out, "  rule      %s\n", answer.Router.Rule)
		printWhy(out, "  because   ", answer.Router.Why)
	}
	if answer.PriorityClass != "" {
		say(out, "class       %s\n", answer.PriorityClass)
	}
	for i, name := range answer.Middlewares {
		say(out, "middleware  %d. %s\n", i+1, name)
	}
	if answer.ForwardedPath != "" {
		say(out, "path        %s, as the service receives it\n", plainly(answer.ForwardedPath))
	}
	for _, choice := range answer.Environments {
		printEnvironment(out, choice)
	}
	if answer.Service != nil {
		printService(out, *answer.Service, "")
	}
	if answer.Status != 0 {
		say(out, "answer      %d: %s\n", answer.Status, answer.Reason)
	}
	for _, other := range answer.Elsewhere {
		say(out, "elsewhere   %s would answer on entrypoint %s %s\n", other.Router, other.EntryPoint, withTLS(other.TLS))
	}
	printNext(out, answer.Next)
}

// printNext prints the routers that came next.
func printNext(out io.Writer, next []router.Candidate) {
	for i, candidate := range next {
		say(out, "next %d      %s, priority %d: %s\n", i+1, candidate.Name, candidate.Priority, candidate.Reason)
		say(out, "  rule      %s\n", candidate.Rule)
		label := "  because   "
		if !candidate.Matches {
			label = "  but       "
		}
		printWhy(out, label, candidate.Why)
	}
}

func withTLS(secure bool) string {
	if secure {
		return "with TLS"
	}
	return "without TLS"
}

// plainly returns a text as it is, or quoted where a terminal would not show it as it is.
func plainly(text string) string {
	if quoted := strconv.Quote(text); text == "" || strings.Contains(text, " ") || quoted[1:len(quoted)-1] != text {
		return quoted
	}
	return text
}

func printWhy(out io.Writer, label string, reasons []string) {
	for _, reason := range reasons {
		say(out, "%s%s\n", label, reason)
	}
}

func printEnvironment(out io.Writer, choice router.EnvironmentChoice) {
	wanted := "no " + choice.Header
	if choice.Tag != "" {
		wanted = choice.Header + ": " + plainly(choice.Tag)
	}
	say(out, "environment %s: %s\n", wanted, describeChoice(choice))
}

// describeChoice says what answers a tag, and why.
func describeChoice(choice router.EnvironmentChoice) string {
	switch choice.Reason {
	case environment.Exact:
		return "subset " + choice.Subset
	case environment.Ancestor:
		return "subset " + choice.Subset + ", the nearest ancestor"
	case environment.Default:
		return "subset " + choice.Subset + ", the default"
	case environment.Any:
		return "any endpoint"
	}
	return "no subset"
}

func printService(out io.Writer, service router.ServiceStatus, indent string) {
	say(out, "service     %s%s (%s)", indent, service.Name, service.Kind)
	switch {
	case service.Tag != "":
		say(out, ", subset %s", service.Tag)
	case service.Percent > 0:
		say(out, ", %s of %d %%", service.Role, service.Percent)
	case service.Role != "":
		say(out, ", %s", service.Role)
	case indent != "":
		say(out, ", weight %d", service.Weight)
	}
	if !service.Up {
		say(out, ", down")
	}
	if len(service.Middlewares) > 0 {
		say(out, ", middlewares %s", strings.Join(service.Middlewares, ", "))
	}
	say(out, "\n")
	for _, endpoint := range service.Endpoints {
		say(out, "  endpoint  %s%s://%s, share %d%s\n", indent,
			endpoint.Scheme, endpoint.Address, endpoint.Share, stateSuffix(endpoint.State))
	}
	if service.Kind == "loadBalancer" && len(service.Endpoints) == 0 {
		say(out, "  endpoint  %snone, so its requests are answered 503\n", indent)
	}
	for _, branch := range service.Services {
		printService(out, branch, indent+"  ")
	}
}

// say writes a text. Its arguments come from the configuration: line breaks and control characters in them are escaped.
func say(out io.Writer, format string, arguments ...any) {
	for i, argument := range arguments {
		switch argument.(type) {
		case string, error, fmt.Stringer:
			arguments[i] = onOneLine(fmt.Sprint(argument))
		}
	}
	_, _ = fmt.Fprintf(out, format, arguments...)
}

// onOneLine escapes unprintable characters as in a Go string.
func onOneLine(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var plain strings.Builder
	for _, r := range text {
		if unprintable(r) {
			quoted := strconv.QuoteRune(r)
			plain.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		plain.WriteRune(r)
	}
	return plain.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// stateSuffix returns the state of an endpoint that is not serving, for the end of a line.
func stateSuffix(state string) string {
	if state == "" || state == loadbalancer.Serving.String() {
		return ""
	}
	return ", " + state
}
