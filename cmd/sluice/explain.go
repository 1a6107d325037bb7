package main

import (
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

// explainCommand says which router answers a request and why.
func (p *process) explainCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "explain METHOD URL [-H 'Name: value'] [--entrypoint NAME] [--client ADDRESS] [--json] [--api URL]",
		Short: "show which router answers a request, and why",
		Long: "Show which router answers a request and why, its middlewares and endpoints, and why the routers that came\n" +
			"next do not answer. Without any configuration, the Sluice that runs on this machine answers. The first line\n" +
			"of standard error says what answers.\n\n" +
			"explain tcp [HOST]:PORT is about a TCP connection: the decisions between TCP routers and HTTP in their order,\n" +
			"and the TCP router that takes it, by --sni, --alpn, --from, --tls and --starttls.\n\n" +
			"Exit codes: 0 when a router answers, 1 when none does, 2 when the configuration or the arguments are wrong.",
		Example: "  sluice explain GET https://shop.example.com/cart -H 'X-Env: canary'\n" +
			"  sluice explain tcp --sni db.example.com --alpn postgresql --from 192.0.2.1 :5432",
		ValidArgsFunction: completeOptions(completeMethods),
	}
	headers := headerFlag{}
	flags := command.Flags()
	flags.VarP(headers, "header", "H", "a `header` of the request, 'Name: value'; may repeat")
	entrypoint := flags.String("entrypoint", "", "the `NAME` of the entrypoint (default: by the URL's port and scheme)")
	client := flags.String("client", "", "the client's `ADDRESS`, for ClientIP (default 127.0.0.1)")
	flags.StringVar(client, "from", "", "the same as --client")
	connection := connectionFlags{
		client: client, entrypoint: entrypoint,
		sni:       flags.String("sni", "", "with tcp: the server `NAME` that the client sends; implies TLS"),
		protocols: flags.StringSlice("alpn", nil, "with tcp: the `PROTOCOLS` that the client offers, with commas; implies TLS"),
		tls:       flags.Bool("tls", false, "with tcp: the client begins with TLS, without a server name"),
		startTLS:  flags.Bool("starttls", false, "with tcp: the client requests TLS as those of PostgreSQL do"),
	}
	asJSON := flags.Bool("json", false, "print JSON")
	api := flags.String(apiFlag, "", "query the running Sluice whose API is at this `URL`")
	p.takes(command, 3, true, func(given arguments) int {
		if len(given.positional) > 0 && strings.EqualFold(given.positional[0], "tcp") {
			if len(given.positional) != 2 {
				say(p.stderr, "sluice explain: tcp needs [HOST]:PORT, as in: sluice explain tcp --sni db.example.com :5432\n")
				return exitBroken
			}
			return p.explainConnection(connection.question(given.positional[1]), *api, *asJSON, given.options)
		}
		if len(given.positional) != 2 {
			say(p.stderr, "sluice explain: METHOD and URL are needed, as in: sluice explain GET https://shop.example.com/\n")
			return exitBroken
		}
		question := router.Question{
			Method: strings.ToUpper(given.positional[0]), URL: given.positional[1], Header: http.Header(headers),
			EntryPoint: *entrypoint, Client: *client,
		}
		return p.explain(question, *api, *asJSON, given.options)
	})
	return command
}

// completeMethods completes the first argument of explain.
func completeMethods(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, cobra.ShellCompDirectiveNoFileComp
}

// explain prints the answer to a question, and returns the exit code. What it answers from is the first line of stderr.
func (p *process) explain(question router.Question, api string, asJSON bool, options []string) int {
	from, err := findSource(api, static.Sources{Args: options, Environ: p.environ})
	var answer router.Explanation
	switch {
	case err != nil:
	case from.api != "":
		say(p.stderr, "configuration: %s\n", from.String())
		err = queryAPI(from.api, "explain", questionQuery(question), &answer)
	default:
		say(p.stderr, "configuration: %s\n", from.String())
		var s *settled
		if s, err = settleSource(from, p.stderr); err != nil {
			break
		}
		if answer, err = s.target.Table().Explain(question); err == nil {
			s.printConcerned(p.stderr, concernedBy(answer))
		}
	}
	if err != nil {
		say(p.stderr, "sluice explain: %v\n", err)
		return exitBroken
	}
	if asJSON {
		printJSON(p.stdout, answer)
	} else {
		printExplanation(p.stdout, answer)
	}
	if answer.Router == nil || answer.Status >= http.StatusInternalServerError {
		return exitNone
	}
	return exitFine
}

// concernedBy returns the names of the objects that an answer is about.
func concernedBy(answer router.Explanation) []string {
	names := slices.Clone(answer.Middlewares)
	if answer.Router != nil {
		names = append(names, answer.Router.Name)
	}
	if answer.Service != nil {
		names = append(names, servicesOf(*answer.Service)...)
	}
	return names
}

func servicesOf(service router.ServiceStatus) []string {
	names := append([]string{service.Name}, service.Middlewares...)
	for _, below := range service.Services {
		names = append(names, servicesOf(below)...)
	}
	return names
}
