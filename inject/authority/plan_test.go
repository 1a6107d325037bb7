package authority_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/inject/authority"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// at makes an authority some time after the beginning of 2030.
func at(t *testing.T, age time.Duration) authority.Authority {
	t.Helper()
	one, err := authority.New(start().Add(age))
	if err != nil {
		t.Fatal(err)
	}
	return one
}

func start() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// trusted is an authority without its key.
func trusted(one authority.Authority) authority.Authority {
	one.Key = nil
	return one
}

// TestPlan lists what is due with authorities at a time.
func TestPlan(t *testing.T) {
	first, second, late := at(t, 0), at(t, 183*day), at(t, 2*year)
	future, further, furthest := at(t, 3*year), at(t, 4*year), at(t, 5*year)
	none, only := authority.Authority{}, []authority.Authority{first}
	for _, test := range []struct {
		name   string
		known  []authority.Authority
		now    time.Duration
		keep   []authority.Authority
		signer authority.Authority
		create bool
		next   time.Duration
	}{
		{"nothing", nil, 0, nil, none, true, 0},
		{"a new one signs at once", only, 0, only, first, false, year/2 - time.Hour/2},
		{"a slow clock", only, -59 * time.Minute, only, first, false, year/2 - time.Hour/2},
		{"half its age", []authority.Authority{first}, year / 2, []authority.Authority{first}, first, true, 0},
		{
			"the next one is not published yet",
			[]authority.Authority{first, second},
			183*day + 30*time.Second,
			[]authority.Authority{first, second},
			first, false, 183*day + time.Minute,
		},
		{
			"the next one signs",
			[]authority.Authority{first, second},
			183*day + time.Minute,
			[]authority.Authority{first, second},
			second, false, 190*day + time.Hour + time.Minute,
		},
		{
			"leaves of the first may live",
			[]authority.Authority{first, second},
			190*day + time.Hour,
			[]authority.Authority{first, second},
			second, false, 190*day + time.Hour + time.Minute,
		},
		{
			"no leaf of the first lives",
			[]authority.Authority{first, second},
			190*day + time.Hour + time.Minute,
			[]authority.Authority{second},
			second, false, 183*day + year/2 - time.Hour/2,
		},
		{
			"an old one without its key is trusted",
			[]authority.Authority{trusted(first), second},
			184 * day,
			[]authority.Authority{trusted(first), second},
			second, false, 190*day + time.Hour + time.Minute,
		},
		{"keys are lost", []authority.Authority{trusted(first)}, day, []authority.Authority{trusted(first)}, none, true, 0},
		{"all have expired", []authority.Authority{first}, 2 * year, []authority.Authority{first}, none, true, 0},
		{
			"the clock was ahead for a while",
			[]authority.Authority{first, late},
			day,
			[]authority.Authority{first, late},
			first, false, year/2 - time.Hour/2,
		},
		{
			"the clock is ahead",
			[]authority.Authority{first, late},
			2*year + time.Hour,
			[]authority.Authority{first, late},
			late, false, 2*year + 7*day + time.Hour + time.Minute,
		},
		{
			"the clock is put back by years", []authority.Authority{late}, 0, []authority.Authority{late}, none, true, 0,
		},
		{
			"many from the future",
			[]authority.Authority{first, late, future, further, furthest},
			day,
			[]authority.Authority{first, late, future},
			first, false, year/2 - time.Hour/2,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := authority.NewPlan(test.known, start().Add(test.now))
			same := func(a, b authority.Authority) bool {
				return a.Certificate == b.Certificate && (a.Key == nil) == (b.Key == nil)
			}
			if !slices.EqualFunc(plan.Keep, test.keep, same) {
				t.Errorf("%d stay, want %d", len(plan.Keep), len(test.keep))
			}
			if !same(plan.Signer, test.signer) {
				t.Error("another one signs")
			}
			if plan.Create != test.create {
				t.Errorf("create is %v", plan.Create)
			}
			next := time.Time{}
			if test.next != 0 {
				next = start().Add(test.next)
			}
			if !plan.Next.Equal(next) {
				t.Errorf("next is %v, want %v", plan.Next, next)
			}
		})
	}
}

// TestAuthoritiesAreBounded wants no more than a few, and never without the one that signs.
func TestAuthoritiesAreBounded(t *testing.T) {
	var known []authority.Authority
	for i := range 12 {
		known = append(known, at(t, time.Duration(i)*time.Hour))
	}
	plan := authority.NewPlan(known, start().Add(12*time.Hour))
	if len(plan.Keep) != 6 || plan.Keep[5].Certificate != known[11].Certificate {
		t.Errorf("%d stay", len(plan.Keep))
	}
	for i := range known[1:] {
		known[i+1] = trusted(known[i+1])
	}
	plan = authority.NewPlan(known, start().Add(12*time.Hour))
	if len(plan.Keep) != 6 || plan.Keep[0].Certificate != known[0].Certificate || plan.Signer.Key == nil {
		t.Errorf("%d stay without the one that signs", len(plan.Keep))
	}
}
