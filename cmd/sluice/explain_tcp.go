package main

import (
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

// connectionFlags are the flags of explain tcp.
type connectionFlags struct {
	sni, client, entrypoint *string
	protocols               *[]string
	tls, startTLS           *bool
}

// question makes a question of the address and the flags.
func (f *connectionFlags) question(address string) router.ConnectionQuestion {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	return router.ConnectionQuestion{
		Address: address, EntryPoint: *f.entrypoint, TLS: *f.tls, StartTLS: *f.startTLS, ServerName: *f.sni,
		Protocols: *f.protocols, Client: *f.client,
	}
}

// explainConnection prints which router serves a TCP connection, and returns the exit code.
func (p *process) explainConnection(question router.ConnectionQuestion, api string, asJSON bool, options []string) int {
	from, err := findSource(api, static.Sources{Args: options, Environ: p.environ})
	var answer router.ConnectionExplanation
	switch {
	case err != nil:
	case from.api != "":
		say(p.stderr, "configuration: %s\n", from.String())
		err = queryAPI(from.api, "explain/tcp", connectionQuery(question), &answer)
	default:
		say(p.stderr, "configuration: %s\n", from.String())
		var s *settled
		if s, err = settleSource(from, p.stderr); err != nil {
			break
		}
		answer, err = s.target.Table().ExplainConnection(question)
	}
	if err != nil {
		say(p.stderr, "sluice explain: %v\n", err)
		return exitBroken
	}
	if asJSON {
		printJSON(p.stdout, answer)
	} else {
		printConnection(p.stdout, &answer)
	}
	if answer.Answer == "closed" || answer.Reason != "" {
		return exitNone
	}
	return exitFine
}

// connectionQuery puts a question into the query of /api/explain/tcp.
func connectionQuery(question router.ConnectionQuestion) url.Values {
	query := url.Values{"address": {question.Address}, "alpn": question.Protocols}
	for name, value := range map[string]string{
		"sni": question.ServerName, "client": question.Client, "entrypoint": question.EntryPoint,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, value := range map[string]bool{"tls": question.TLS, "starttls": question.StartTLS} {
		if value {
			query.Set(name, strconv.FormatBool(value))
		}
	}
	return query
}

func printConnection(out io.Writer, answer *router.ConnectionExplanation) {
	say(out, "connection from %s, entrypoint %s, %s", answer.Client, answer.EntryPoint, withTLS(answer.TLS))
	if answer.ServerName != "" {
		say(out, ", server name %s", plainly(answer.ServerName))
	}
	if len(answer.Protocols) > 0 {
		say(out, ", ALPN %s", plainly(strings.Join(answer.Protocols, ",")))
	}
	say(out, "\n")
	if answer.Guess != "" {
		say(out, "guessed     entrypoint %s: %s\n", answer.EntryPoint, answer.Guess)
	}
	for i, step := range answer.Steps {
		say(out, "step %d      %s\n", i+1, step)
	}
	if answer.Router != nil {
		say(out, "router      %s, priority %d\n", answer.Router.Name, answer.Router.Priority)
		say(out, "  rule      %s\n", answer.Router.Rule)
		printWhy(out, "  because   ", answer.Router.Why)
	}
	switch {
	case answer.Passthrough:
		say(out, "tls         passes through to the server\n")
	case answer.Options != "":
		say(out, "tls         ends here, with the options %s\n", answer.Options)
	}
	for i, name := range answer.Middlewares {
		say(out, "middleware  %d. %s\n", i+1, name)
	}
	if answer.Service != nil {
		printService(out, *answer.Service, "")
	}
	switch {
	case answer.Reason != "":
		say(out, "answer      %s: %s\n", answer.Answer, answer.Reason)
	case answer.Answer == "http":
		say(out, "answer      http: sluice explain METHOD URL says which HTTP router answers\n")
	}
	printNext(out, answer.Next)
}
