package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/certificate/acme"
)

// renewCertificates makes the certificates for names due, and returns the exit code.
func (p *process) renewCertificates(names []string, resolver string, given arguments) int {
	opened, err := p.openStores(given)
	if err == nil && resolver != "" && opened.resolvers[resolver] == nil {
		err = fmt.Errorf("there is no resolver %q that uses ACME; one of %s", resolver, strings.Join(opened.names(), ", "))
	}
	if err != nil {
		say(p.stderr, "sluice certificates renew: %v\n", err)
		return exitBroken
	}
	candidates := opened.names()
	if resolver != "" {
		candidates = []string{resolver}
	}
	ctx, stop := interruptible()
	defer stop()
	code, renewed := exitFine, 0
	for _, name := range names {
		n, err := p.renewName(ctx, opened, candidates, name)
		if renewed += n; err != nil {
			say(p.stderr, "sluice certificates renew: %s: %v\n", name, err)
			code = exitNone
		}
	}
	if renewed > 0 {
		say(p.stdout, "The Sluice that leads orders within seconds what a router needs. Follow it with: "+
			"sluice certificates list\n")
	}
	return code
}

// renewName makes the certificates for a name due, of each resolver that has one, and returns how many there are.
func (p *process) renewName(ctx context.Context, opened *stores, candidates []string, name string) (int, error) {
	renewed := 0
	for _, resolver := range candidates {
		limited, cancel := context.WithTimeout(ctx, storageTimeout)
		renewal, err := acme.RenewNow(limited, opened.of(resolver), resolver, name)
		cancel()
		switch {
		case errors.Is(err, acme.ErrNoCertificate):
			continue
		case err != nil:
			return renewed, fmt.Errorf("resolver %s, storage %s: %w", resolver, opened.shown(resolver), opened.said.explain(err))
		}
		renewed++
		say(p.stdout, "%s: %s\n", name, describeRenewal(resolver, renewal, time.Now()))
	}
	if renewed == 0 {
		return 0, fmt.Errorf("%w for it, of %s", acme.ErrNoCertificate, resolverList(candidates))
	}
	return renewed, nil
}

func resolverList(names []string) string {
	if len(names) == 1 {
		return "resolver " + names[0]
	}
	return "the resolvers " + strings.Join(names, ", ")
}

// describeRenewal says what will happen.
func describeRenewal(resolver string, renewal acme.Renewal, now time.Time) string {
	const most = 4 // Names in a line.
	names := shortList(renewal.Names, most)
	text := fmt.Sprintf("the certificate for %s of resolver %s, which ends on %s, is due now", names, resolver,
		shownTime(renewal.NotAfter))
	if renewal.NotAfter.IsZero() {
		text = fmt.Sprintf("the next attempt to obtain a certificate for %s by resolver %s is due now", names, resolver)
	}
	if renewal.Earliest.After(now) {
		text += "; it is not ordered before " + shownTime(renewal.Earliest) + ", since the authority fails or limits orders"
	}
	return text
}
