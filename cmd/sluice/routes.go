package main

import (
	"errors"
	"io"

	"github.com/sluiceproxy/sluice/router"
)

var errStatic = errors.New("the static configuration is wrong")

// routes prints the effective table. It returns 0 when there is a router, 1 when there is none, and 2 when the
// configuration or the arguments are wrong.
func routes(args, environ []string, stdout, stderr io.Writer) int {
	flags := newFlags("routes", "[--json] [--api URL]", stderr)
	asJSON := flags.Bool("json", false, "print JSON")
	api := flags.String("api", "", "query the running Sluice whose API is at this `URL`")
	positional, options, err := parseMixed(flags, args)
	if code, done := flagResult(flags, positional, err); done {
		return code
	}
	var listings []router.Listing
	if *api != "" {
		err = queryAPI(*api, "routes", nil, &listings)
	} else {
		var s *system
		if s, err = settled(options, environ, stderr); err == nil {
			listings = s.target.Table().Routes()
		}
	}
	if err != nil {
		say(stderr, "sluice routes: %v\n", err)
		return exitBroken
	}
	if *asJSON {
		printJSON(stdout, listings)
	} else {
		printRoutes(stdout, listings)
	}
	if len(listings) == 0 {
		return exitNone
	}
	return exitFine
}
