package main

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/api/resolvers"
	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/static"
)

// listCertificates prints the certificates of resolvers, and returns the exit code.
func (p *process) listCertificates(address string, look tableLook, given arguments) int {
	list, err := p.readResolvers(address, given)
	if err != nil {
		say(p.stderr, "sluice certificates: %v\n", err)
		return exitBroken
	}
	now := time.Now()
	if look.json {
		printJSON(p.stdout, list)
	} else if len(list.Certificates) > 0 {
		printFitted(p.stdout, certificateRows(list.Certificates, now), look.width)
	}
	code := exitFine
	for _, one := range list.Resolvers {
		if text := resolverFault(one); text != "" {
			say(p.stderr, "resolver %s: %s\n", one.Name, text)
			code = exitNone
		}
		if one.States[acme.StateFailing] > 0 {
			code = exitNone
		}
	}
	switch {
	case len(list.Resolvers) == 0:
		say(p.stderr, "sluice certificates: there is no certificate resolver that uses ACME\n")
		return exitNone
	case len(list.Certificates) == 0:
		say(p.stderr, "sluice certificates: there is no certificate, and no order\n")
	}
	return code
}

// resolverFault says why a resolver obtains no certificates; empty if it does.
func resolverFault(one resolvers.Resolver) string {
	switch {
	case one.Fault != "":
		return one.Fault
	case one.Failures > 0 && one.Last != nil:
		return "the certificate authority fails, next attempt at " + shownTime(one.Next) + ": " + one.Last.String()
	}
	return ""
}

// readResolvers returns the resolvers with all certificates, from a running Sluice or from the storage. Which of them
// is the first line of stderr.
func (p *process) readResolvers(address string, given arguments) (resolvers.List, error) {
	from, err := findSource(address, static.Sources{Args: given.options, Environ: p.environ})
	if err != nil {
		return resolvers.List{}, err
	}
	if from.api == "" {
		if static.HasErrors(from.findings) {
			say(p.stderr, "configuration: %s\n", from.String())
			printFindings(p.stderr, from.findings)
			return resolvers.List{}, errStatic
		}
		if running := servedAPI(from); running != "" {
			from = source{api: running}
		}
	}
	if from.api != "" {
		say(p.stderr, "configuration: %s\n", from.String())
		return queryResolvers(from.api)
	}
	say(p.stderr, "configuration: %s, and the storage, since no Sluice that runs was found\n", from.String())
	if len(acmeResolvers(from.loaded.Configuration)) == 0 {
		return resolvers.Show(nil), nil
	}
	opened, err := newStores(from.loaded.Configuration)
	if err != nil {
		return resolvers.List{}, err
	}
	ctx, stop := interruptible()
	defer stop()
	values, err := opened.read(ctx)
	if err != nil {
		return resolvers.List{}, err
	}
	return resolvers.Show(acme.Stored(values, opened.resolvers)), nil
}

// servedAPI returns the URL at which a Sluice with a static configuration serves its API without a router, if one runs
// on this machine; "" otherwise.
func servedAPI(from source) string {
	at, err := ownURL(from.loaded, from.findings, "--"+apiFlag,
		func(config *static.Configuration) (entryPoint, path string, err error) {
			if config.API == nil || !config.API.Insecure {
				return "", "", errors.New("the API has routers of the configuration")
			}
			return static.InternalEntryPoint, strings.TrimRight(config.API.BasePath, "/"), nil
		})
	if err != nil || isSluice(at) != nil {
		return ""
	}
	return at
}

// queryResolvers returns the resolvers of a running Sluice with all certificates, page by page.
func queryResolvers(base string) (resolvers.List, error) {
	const page = 1000
	all := resolvers.List{Certificates: []acme.Status{}}
	for n := 1; ; n++ {
		var some resolvers.List
		query := url.Values{"page": {strconv.Itoa(n)}, "per_page": {strconv.Itoa(page)}}
		if err := queryAPI(base, "resolvers", query, &some); err != nil {
			return all, err
		}
		all.Resolvers = some.Resolvers
		if all.Certificates = append(all.Certificates, some.Certificates...); len(some.Certificates) < page {
			return all, nil
		}
	}
}

// certificateRows are the rows of a table. The columns of failures are there if something fails.
func certificateRows(certificates []acme.Status, now time.Time) [][]string {
	const most = 4 // Names in a row.
	failing := slices.ContainsFunc(certificates, func(one acme.Status) bool { return one.Last != nil })
	head := []string{"NAMES", "RESOLVER", "STATE", "EXPIRES", "RENEWS"}
	if failing {
		head = append(head, "ATTEMPTS", "NEXT ATTEMPT", "PROBLEM")
	}
	rows := [][]string{head}
	for _, one := range certificates {
		row := []string{
			cmp.Or(shortList(one.Names, most), "-"), one.Resolver, one.State, spanTo(one.NotAfter, now), shownTime(one.Renew),
		}
		if failing {
			attempts, next, problem := "-", "-", "-"
			if one.Last != nil {
				attempts, next, problem = strconv.Itoa(one.Failures), shownTime(one.Next), one.Last.String()
			}
			row = append(row, attempts, next, problem)
		}
		rows = append(rows, row)
	}
	return rows
}

// shownTime returns a time in UTC to the minute, or - for none.
func shownTime(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format("2006-01-02 15:04")
}

// spanTo says how far away a time is, or - for none.
func spanTo(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	left := at.Sub(now)
	amount := max(left, -left)
	text := strconv.Itoa(int(amount/time.Minute)) + " min"
	switch {
	case amount >= 48*time.Hour:
		text = strconv.Itoa(int(amount/(24*time.Hour))) + " d"
	case amount >= 2*time.Hour:
		text = strconv.Itoa(int(amount/time.Hour)) + " h"
	}
	if left < 0 {
		return text + " ago"
	}
	return "in " + text
}
