package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

// explain says which router answers a request and why. It returns 0 when a router answers, 1 when none does, and 2 when
// the configuration or the arguments are wrong.
func explain(args, environ []string, stdout, stderr io.Writer) int {
	headers := headerFlag{}
	flags := newFlags("explain",
		"METHOD URL [-H 'Name: value'] [--entrypoint NAME] [--client ADDRESS] [--json] [--api URL]", stderr)
	flags.Var(headers, "H", "a `header` of the request, 'Name: value'; may repeat")
	entrypoint := flags.String("entrypoint", "", "the `name` of the entrypoint (default: by the URL's port and scheme)")
	client := flags.String("client", "", "the client's `address`, for ClientIP (default 127.0.0.1)")
	asJSON := flags.Bool("json", false, "print JSON")
	api := flags.String("api", "", "query the running Sluice whose API is at this `URL`")
	positional, options, err := parseMixed(flags, args)
	if code, done := flagResult(flags, nil, err); done {
		return code
	}
	if len(positional) != 2 {
		say(stderr, "sluice explain: exactly METHOD and URL are needed, got %q\n", positional)
		flags.Usage()
		return exitBroken
	}
	question := router.Question{
		Method: strings.ToUpper(positional[0]), URL: positional[1], Header: http.Header(headers),
		EntryPoint: *entrypoint, Client: *client,
	}
	var answer router.Explanation
	if *api != "" {
		err = queryAPI(*api, "explain", questionQuery(question), &answer)
	} else {
		answer, err = explainHere(options, environ, question, stderr)
	}
	if err != nil {
		say(stderr, "sluice explain: %v\n", err)
		return exitBroken
	}
	if *asJSON {
		printJSON(stdout, answer)
	} else {
		printExplanation(stdout, answer)
	}
	if answer.Router == nil {
		return exitNone
	}
	return exitFine
}

func explainHere(options, environ []string, question router.Question, stderr io.Writer) (router.Explanation, error) {
	s, err := settled(options, environ, stderr)
	if err != nil {
		return router.Explanation{}, err
	}
	return s.target.Table().Explain(question)
}

// settled loads the configuration as run would. Objects that are quarantined are printed and do not keep it from
// answering, but a provider of which nothing is known does: the answer would be another one with it.
func settled(options, environ []string, stderr io.Writer) (*system, error) {
	loaded, findings := static.Load(static.Sources{Args: options, Environ: environ})
	if static.HasErrors(findings) {
		printFindings(stderr, findings)
		return nil, errStatic
	}
	s, state, err := settle(loaded.Configuration)
	if err != nil {
		return nil, err
	}
	printVerdicts(stderr, state.Verdicts)
	if missing := undelivered(state); len(missing) > 0 {
		printProviders(stderr, state)
		return nil, fmt.Errorf("nothing could be read of the provider %s", missing[0])
	}
	return s, nil
}
