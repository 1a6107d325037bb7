package acme

import (
	"cmp"
	"crypto/x509"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// need is a set of names for which a certificate is needed.
type need struct {
	names []string
	// routers are the qualified names of the routers that need it; none for a name that a client has asked for.
	routers []string
}

// job is an order that is to be made.
type job struct {
	id    string
	names []string
	// renews is the certificate that is renewed; nil for new ones.
	renews *issuedCertificate
	// start is when the order may be made.
	start time.Time
	// urgent says that no usable certificate covers the names, asked that a client has asked for one of them.
	urgent, asked bool
}

// planned is which orders are to be made, and which certificates are in use.
type planned struct {
	// jobs are in the order in which they are made.
	jobs  []job
	inUse map[string]*issuedCertificate
}

// input is what a plan is made of. It is not changed.
type input struct {
	now time.Time
	// needs have normalized names.
	needs        []need
	certificates []*issuedCertificate
	schedules    map[string]schedule
	// covered reports whether a certificate of another source covers a name.
	covered func(name string) bool
	// asked reports whether a client has asked for a name.
	asked func(name string) bool
	lead  func(leaf *x509.Certificate) time.Duration
	// wildcards says that the resolver has a challenge by which wildcards can be validated.
	wildcards bool
}

// planner makes a plan.
type planner struct {
	input
	out      planned
	byID     map[string]*issuedCertificate
	exact    map[string][]*issuedCertificate // by name, also wildcards
	wanted   map[string]bool
	ordering map[string]bool
	// failing are the wildcards among those that are being ordered that are not expected to be issued.
	failing map[string]bool
}

// plan decides which orders are needed. A name is ordered once: not if a certificate of another source covers it, if a
// certificate that is not due does, or if another order has it; but names below a wildcard that is not expected to be
// issued are ordered by themselves. The certificate whose names are exactly those of a need is renewed, and so is any
// other in use whose names are all still needed. The plan depends only on its input, so that all replicas make the same
// one.
func plan(in input) planned {
	p := &planner{
		input: in, out: planned{inUse: map[string]*issuedCertificate{}},
		byID: map[string]*issuedCertificate{}, exact: map[string][]*issuedCertificate{},
		wanted: map[string]bool{}, ordering: map[string]bool{}, failing: map[string]bool{},
	}
	for _, c := range in.certificates {
		p.byID[c.id] = c
		for _, name := range c.names {
			p.exact[name] = append(p.exact[name], c)
		}
	}
	needs := slices.Clone(in.needs)
	slices.SortFunc(needs, func(a, b need) int { return compareSets(a.names, b.names) })
	for _, n := range needs {
		for _, name := range n.names {
			if !in.covered(name) {
				p.wanted[name] = true
			}
		}
	}
	for _, n := range needs {
		p.add(n)
	}
	for _, id := range sortedKeys(p.out.inUse) {
		p.renew(p.out.inUse[id])
	}
	slices.SortStableFunc(p.out.jobs, compareJobs)
	return p.out
}

// add finds what covers a need, and orders the rest.
func (p *planner) add(n need) {
	var names []string
	for _, name := range n.names {
		if p.wanted[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	if c := p.byID[storage.CertificateID(names)]; c != nil {
		p.out.inUse[c.id] = c
		return
	}
	var missing []string
	for _, name := range names {
		if wildcard := wildcardOf(name); p.ordering[name] || p.ordering[wildcard] && !p.failing[wildcard] {
			continue
		}
		if c := p.covering(name); c != nil {
			p.out.inUse[c.id] = c
			continue
		}
		missing = append(missing, name)
	}
	if len(missing) == 0 {
		return
	}
	id := storage.CertificateID(missing)
	for _, name := range missing {
		p.ordering[name], p.failing[name] = true, p.fails(id)
	}
	if c := p.byID[id]; c != nil {
		p.out.inUse[id] = c
		return
	}
	p.out.jobs = append(p.out.jobs, p.job(id, missing, nil))
}

// hopeless is the number of failures after which names below a wildcard do not wait for it any more.
const hopeless = 5

// fails reports whether an order for wildcards is not expected to succeed: it has failed, and without a challenge for
// wildcards, or often.
func (p *planner) fails(id string) bool {
	failures := p.schedules[id].Failures
	return failures >= hopeless || failures > 0 && !p.wildcards
}

// covering returns the certificate that covers a name and ends last, of those that will stay valid.
func (p *planner) covering(name string) *issuedCertificate {
	var best *issuedCertificate
	for _, key := range []string{name, wildcardOf(name)} {
		for _, c := range p.exact[key] {
			if key != name && p.now.After(c.leaf.NotAfter) && p.fails(c.id) {
				continue
			}
			if key != "" && p.goesOn(c) && (best == nil || c.leaf.NotAfter.After(best.leaf.NotAfter)) {
				best = c
			}
		}
	}
	return best
}

// goesOn reports whether a certificate is not due, or will be renewed since all its names are needed.
func (p *planner) goesOn(c *issuedCertificate) bool {
	if p.now.Before(p.renewal(c)) {
		return true
	}
	return !slices.ContainsFunc(c.names, func(name string) bool { return !p.wanted[name] })
}

func (p *planner) renewal(c *issuedCertificate) time.Time {
	return p.schedules[c.id].renewal(c.leaf, p.lead(c.leaf))
}

// renew adds the renewal of a certificate in use.
func (p *planner) renew(c *issuedCertificate) {
	one := p.job(storage.CertificateID(c.names), c.names, c)
	if at := p.renewal(c); at.After(one.start) {
		one.start = at
	}
	p.out.jobs = append(p.out.jobs, one)
}

func (p *planner) job(id string, names []string, renews *issuedCertificate) job {
	return job{
		id: id, names: names, renews: renews, start: p.schedules[id].earliest(p.now, renews),
		urgent: renews == nil || p.now.After(renews.leaf.NotAfter), asked: slices.ContainsFunc(names, p.asked),
	}
}

// compareJobs puts first what clients wait for, and then what has no certificate.
func compareJobs(a, b job) int {
	rank := func(j job) int {
		switch {
		case j.urgent && j.asked:
			return 0
		case j.urgent:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.start.Compare(b.start), compareSets(a.names, b.names))
}

// wildcardOf returns the wildcard that covers a name, or "".
func wildcardOf(name string) string {
	for i, c := range name {
		if c == '.' && i > 0 && name[0] != '*' {
			return "*" + name[i:]
		}
	}
	return ""
}

func sortedKeys[T any](values map[string]T) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
