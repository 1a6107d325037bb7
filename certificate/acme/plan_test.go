package acme

import (
	"crypto/x509"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// planTime is the present of the tests.
func planTime() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// stored is a certificate with a part of its life left, from 0 (has ended) to 1 (is new).
func stored(left float64, names ...string) *issuedCertificate {
	life := 90 * 24 * time.Hour
	end := planTime().Add(time.Duration(float64(life) * left))
	return &issuedCertificate{id: storage.CertificateID(names), names: names, leaf: &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(names)) + 1000), NotAfter: end, NotBefore: end.Add(-life),
	}}
}

func planInput(needs [][]string, certificates ...*issuedCertificate) input {
	in := input{
		now: planTime(), certificates: certificates, schedules: map[string]schedule{},
		covered: func(string) bool { return false }, asked: func(string) bool { return false },
		lead: func(leaf *x509.Certificate) time.Duration { return renewalLead(leaf, defaultCertificatesDuration) },
	}
	for _, names := range needs {
		in.needs = append(in.needs, need{names: names})
	}
	return in
}

// due returns the names of the jobs that may start now.
func (p planned) due() [][]string {
	var names [][]string
	for _, one := range p.jobs {
		if !one.start.After(planTime()) {
			names = append(names, one.names)
		}
	}
	return names
}

func TestPlan(t *testing.T) {
	sets := func(names ...[]string) [][]string { return names }
	set := func(names ...string) []string { return names }
	for _, test := range []struct {
		name  string
		needs [][]string
		has   []*issuedCertificate
		want  [][]string
	}{
		{"a new one", sets(set("a.x.com", "b.x.com")), nil, sets(set("a.x.com", "b.x.com"))},
		{"one that is there", sets(set("a.x.com")), []*issuedCertificate{stored(0.9, "a.x.com")}, nil},
		{"one that is due", sets(set("a.x.com")), []*issuedCertificate{stored(0.2, "a.x.com")}, sets(set("a.x.com"))},
		{"one that has ended", sets(set("a.x.com")), []*issuedCertificate{stored(-1, "a.x.com")}, sets(set("a.x.com"))},
		{
			"one name of two", sets(set("a.x.com", "b.x.com")),
			[]*issuedCertificate{stored(0.9, "a.x.com")},
			sets(set("b.x.com")),
		},
		{"under a wildcard that is there", sets(set("a.x.com")), []*issuedCertificate{stored(0.9, "*.x.com")}, nil},
		{"under a wildcard that is ordered", sets(set("a.x.com"), set("*.x.com")), nil, sets(set("*.x.com"))},
		{
			"of another set that is ordered", sets(set("a.x.com"), set("a.x.com", "b.x.com")), nil,
			sets(set("a.x.com", "b.x.com")),
		},
		{
			"a larger one is due, and wanted", sets(set("a.x.com"), set("b.x.com")),
			[]*issuedCertificate{stored(0.2, "a.x.com", "b.x.com")},
			sets(set("a.x.com", "b.x.com")),
		},
		{
			"a larger one is due, and a name is gone", sets(set("a.x.com")),
			[]*issuedCertificate{stored(0.2, "a.x.com", "b.x.com")},
			sets(set("a.x.com")),
		},
		{
			"a larger one is not due, and a name is gone", sets(set("a.x.com")), []*issuedCertificate{stored(0.9, "a.x.com", "b.x.com")}, nil,
		},
		{"one that no router needs", nil, []*issuedCertificate{stored(0.2, "a.x.com")}, nil},
		{
			"a wildcard does not cover two labels", sets(set("a.b.x.com")),
			[]*issuedCertificate{stored(0.9, "*.x.com")},
			sets(set("a.b.x.com")),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := plan(planInput(test.needs, test.has...)).due()
			if !slices.EqualFunc(got, test.want, slices.Equal) {
				t.Errorf("orders %q, want %q", got, test.want)
			}
		})
	}
}

// Names below a wildcard wait for it while it may be issued, and not when that is not to be expected.
func TestPlanBelowAWildcardThatFails(t *testing.T) {
	alone, both := [][]string{{"*.x.com"}}, [][]string{{"*.x.com"}, {"a.x.com"}}
	for _, test := range []struct {
		name      string
		wildcards bool
		failures  int
		has       []*issuedCertificate
		want      [][]string
	}{
		{"new", false, 0, nil, alone},
		{"without a challenge for it", false, 1, nil, both},
		{"failed once", true, 1, nil, alone},
		{"failed often", true, hopeless, nil, both},
		{"failed often and valid", true, hopeless, []*issuedCertificate{stored(0.1, "*.x.com")}, alone},
		{
			"failed often and ended", true, hopeless,
			[]*issuedCertificate{stored(-1, "*.x.com")},
			[][]string{{"a.x.com"}, {"*.x.com"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := planInput([][]string{{"a.x.com"}, {"*.x.com"}}, test.has...)
			in.wildcards = test.wildcards
			in.schedules[storage.CertificateID([]string{"*.x.com"})] = schedule{Failures: test.failures}
			if got := plan(in).due(); !slices.EqualFunc(got, test.want, slices.Equal) {
				t.Errorf("orders %q, want %q", got, test.want)
			}
		})
	}
}

// Whatever is needed and whatever there is: a new order has no name that another order has, and every name that is
// needed is covered or ordered. Once what is ordered is there, nothing more is.
func TestPlanCoversEachNameOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func() []string {
		var names []string
		for range 1 + random.IntN(3) {
			name := fmt.Sprintf("%c.x%d.com", 'a'+rune(random.IntN(3)), random.IntN(2))
			if random.IntN(5) == 0 {
				name = "*" + name[1:]
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		names, _ = normalizeNames(names)
		return names
	}
	for range 5000 {
		var needs [][]string
		for range random.IntN(5) {
			needs = append(needs, pick())
		}
		var has []*issuedCertificate
		for range random.IntN(5) {
			c := stored(random.Float64()*1.2-0.1, pick()...)
			if !slices.ContainsFunc(has, func(other *issuedCertificate) bool { return other.id == c.id }) {
				has = append(has, c)
			}
		}
		manual := fmt.Sprintf("a.x%d.com", random.IntN(4))
		in := planInput(needs, has...)
		in.covered = func(name string) bool { return name == manual }
		p := plan(in)
		jobs := p.due()
		check(t, in, p)
		after := in
		after.certificates = slices.Clone(has)
		for _, names := range jobs {
			after.certificates = slices.DeleteFunc(after.certificates, func(c *issuedCertificate) bool {
				return c.id == storage.CertificateID(names)
			})
			after.certificates = append(after.certificates, stored(1, names...))
		}
		if more := plan(after).due(); len(more) > 0 {
			t.Fatalf("needs %q, certificates %v: orders %q, and then %q", needs, describe(has), jobs, more)
		}
	}
}

// check checks that jobs order what is needed and not covered, and that new orders have each name once.
func check(t *testing.T, in input, p planned) {
	t.Helper()
	jobs, ordered := p.due(), map[string]int{}
	for _, one := range p.jobs {
		for _, name := range one.names {
			if one.renews == nil && ordered[name] > 0 {
				t.Fatalf("%s is ordered twice: %q, certificates %v", name, jobs, describe(in.certificates))
			}
		}
		for _, name := range one.names {
			if one.renews == nil || !one.start.After(in.now) {
				ordered[name]++
			}
		}
	}
	for _, n := range in.needs {
		for _, name := range n.names {
			covered := in.covered(name) || ordered[name] > 0 || ordered[wildcardOf(name)] > 0 ||
				slices.ContainsFunc(in.certificates, func(c *issuedCertificate) bool {
					names := func(pattern string) bool { return coversName(pattern, name) }
					return in.now.Before(c.leaf.NotAfter) && slices.ContainsFunc(c.names, names)
				})
			if !covered {
				t.Fatalf("%s is neither covered nor ordered: %q", name, jobs)
			}
		}
	}
}

func describe(certificates []*issuedCertificate) []string {
	var texts []string
	for _, c := range certificates {
		texts = append(texts, fmt.Sprint(c.names, " until ", c.leaf.NotAfter.Sub(planTime()).Round(time.Hour)))
	}
	return texts
}

func TestSchedule(t *testing.T) {
	now := planTime()
	s := schedule{}
	var waits []time.Duration
	for range 12 {
		s = s.fail(now, time.Time{}, &Failure{})
		waits = append(waits, s.Next.Sub(now))
	}
	if !slices.IsSorted(waits) || waits[0] != time.Minute || waits[11] != 6*time.Hour {
		t.Errorf("pauses %v", waits)
	}
	if s = s.fail(now, now.Add(48*time.Hour), &Failure{}); s.Next.Sub(now) != 48*time.Hour {
		t.Errorf("with Retry-After the pause is %v", s.Next.Sub(now))
	}
	s = schedule{}
	for i := range duplicateLimit {
		s = s.succeed(now.Add(time.Duration(i)*time.Hour), []string{"a.x.com"})
	}
	if free := s.earliest(now.Add(6*time.Hour), stored(0.5, "a.x.com")); !free.Equal(now.Add(duplicateWindow)) {
		t.Errorf("after five certificates for the same names, the next one is due %v", free)
	}
	// A certificate of an hour, which is renewed after two thirds of it, can be renewed.
	brief := stored(0.5, "a.x.com")
	brief.leaf.NotBefore = brief.leaf.NotAfter.Add(-time.Hour)
	s = schedule{}
	for range 20 {
		s = s.succeed(now, []string{"a.x.com"})
		free := s.earliest(now, brief)
		if free.Sub(now) > 40*time.Minute {
			t.Fatalf("a certificate of an hour may be renewed after %v", free.Sub(now))
		}
		now = now.Add(40 * time.Minute)
	}
	leaf := stored(0.5, "a.x.com").leaf
	late := schedule{Serial: serialOf(leaf), Renew: leaf.NotAfter.Add(time.Hour)}
	if at := late.renewal(leaf, time.Hour); at.After(leaf.NotAfter.Add(-4 * 24 * time.Hour)) {
		t.Errorf("a suggestion after the end renews at %v, the end is %v", at, leaf.NotAfter)
	}
}
