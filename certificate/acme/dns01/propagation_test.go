package dns01_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mholt/acmez/v3"
	"github.com/miekg/dns"

	"github.com/sluiceproxy/sluice/certificate/acme/dns01"
	"github.com/sluiceproxy/sluice/static"
)

var (
	_ acmez.Solver = (*dns01.Solver)(nil)
	_ acmez.Waiter = (*dns01.Solver)(nil)
)

const record = "_acme-challenge.www.shop.test."

func TestWaitsForALateRecord(t *testing.T) {
	z := newZone(t, 1)
	p := quick(10 * time.Second)
	p.present = func(name, value string) error {
		z.authorities[0].txt(name, "of another order", value)
		z.authorities[0].delay(name)
		return nil
	}
	p.cleanUp = func(name, _ string) error {
		z.authorities[0].txt(name)
		return nil
	}
	s, c := z.solver(t, p, dns01.Options{}), challenge("www.shop.test", "a")
	if err := s.Present(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if n := z.authorities[0].questions("udp TXT " + record); n != 3 {
		t.Errorf("the authoritative server was asked %d times", n)
	}
	if n := z.resolver.questions("udp TXT " + record); n != 0 {
		t.Errorf("the resolver was asked for the record %d times", n)
	}
	if err := s.CleanUp(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestFollowsTheDelegation(t *testing.T) {
	z := newZone(t, 1)
	z.resolver.add(t, record+" 1 CNAME one.alias.test.", "one.alias.test. 1 CNAME two.shop.test.")
	c := challenge("www.shop.test", "a")
	z.authorities[0].txt("two.shop.test.", c.DNS01KeyAuthorization())
	if err := z.solver(t, quick(time.Minute), dns01.Options{}).Wait(t.Context(), c); err != nil {
		t.Error(err)
	}
	z.resolver.add(t, "two.shop.test. 1 CNAME one.alias.test.")
	err := z.solver(t, quick(2*time.Second), dns01.Options{}).Wait(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "more than 50 CNAMEs") {
		t.Errorf("a circle gives %v", err)
	}
	t.Setenv("LEGO_DISABLE_CNAME_SUPPORT", "true")
	z.authorities[0].txt(record, c.DNS01KeyAuthorization())
	if err := z.solver(t, quick(time.Minute), dns01.Options{}).Wait(t.Context(), c); err != nil {
		t.Error(err)
	}
}

func TestAnAuthorityFails(t *testing.T) {
	z := newZone(t, 2)
	c := challenge("www.shop.test", "a")
	z.authorities[0].txt(record, c.DNS01KeyAuthorization())
	z.authorities[1].fail(record, dns.RcodeServerFailure)
	err := z.solver(t, quick(2*time.Second), dns01.Options{}).Wait(t.Context(), c)
	want := fmt.Sprintf("the record of %s was not seen within 2s: the name server ns2.shop.test. (%s): "+
		"asking %[2]s for TXT of %[1]s: it answers SERVFAIL", record, z.authorities[1].address)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestAnAuthorityLags(t *testing.T) {
	z := newZone(t, 2)
	c := challenge("www.shop.test", "a")
	z.authorities[0].txt(record, c.DNS01KeyAuthorization())
	z.authorities[1].txt(record, "old", "older")
	s := z.solver(t, quick(2*time.Second), dns01.Options{})
	err := s.Wait(t.Context(), c)
	want := "the name server ns2.shop.test. (" + z.authorities[1].address + ") has other TXT records of " + record +
		`: ["old" "older"]`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	z.authorities[1].txt(record)
	if err = s.Wait(t.Context(), c); err == nil || !strings.HasSuffix(err.Error(), "has no TXT record of "+record) {
		t.Errorf("without a record: %v", err)
	}
	timer := time.AfterFunc(100*time.Millisecond, func() { z.authorities[1].txt(record, c.DNS01KeyAuthorization()) })
	defer timer.Stop()
	if err := z.solver(t, quick(time.Minute), dns01.Options{}).Wait(t.Context(), c); err != nil {
		t.Error(err)
	}
}

func TestTheContextEnds(t *testing.T) {
	z := newZone(t, 1)
	removed := 0
	p := quick(time.Minute)
	p.cleanUp = func(string, string) error {
		removed++
		return nil
	}
	s, c := z.solver(t, p, dns01.Options{}), challenge("www.shop.test", "a")
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Present(ctx, c); err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		defer cancel()
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for z.authorities[0].questions("udp TXT "+record) < 2 && ctx.Err() == nil { // The first answer has come.
			<-ticker.C
		}
	}()
	err := s.Wait(ctx, c)
	cancel()
	<-asked
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "has no TXT record of "+record) {
		t.Errorf("Wait: %v", err)
	}
	if err := s.CleanUp(ctx, c); err != nil || removed != 1 {
		t.Errorf("the record was removed %d times, %v", removed, err)
	}
	if err := s.CleanUp(ctx, c); err != nil || removed != 1 {
		t.Errorf("the record was removed %d times, %v", removed, err)
	}
}

func TestALongAnswerComesOverTCP(t *testing.T) {
	z := newZone(t, 1)
	c := challenge("www.shop.test", "a")
	var values []string
	for i := range 40 {
		values = append(values, fmt.Sprintf("%043d", i))
	}
	z.authorities[0].txt(record, append(values, c.DNS01KeyAuthorization())...)
	if err := z.solver(t, quick(time.Minute), dns01.Options{}).Wait(t.Context(), c); err != nil {
		t.Error(err)
	}
	if n := z.authorities[0].questions("tcp TXT " + record); n != 1 {
		t.Errorf("TCP was used %d times", n)
	}
}

func TestAllResolversMustHaveTheRecord(t *testing.T) {
	all, _ := servers(t, 2)
	c := challenge("www.shop.test", "a")
	all[0].txt(record, c.DNS01KeyAuthorization())
	options := dns01.Options{Challenge: recursiveOnly(all[0].address, all[1].address)}
	s, err := dns01.New(quick(2*time.Second), options)
	if err != nil {
		t.Fatal(err)
	}
	want := "the resolver " + all[1].address + " has no TXT record of " + record
	if err := s.Wait(t.Context(), c); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	all[1].txt(record, c.DNS01KeyAuthorization())
	if err := s.Wait(t.Context(), c); err != nil {
		t.Error(err)
	}
}

func TestTheZoneIsUnknown(t *testing.T) {
	all, port := servers(t, 1)
	z := zone{resolver: all[0], port: port}
	err := z.solver(t, quick(2*time.Second), dns01.Options{}).Wait(t.Context(), challenge("www.shop.test", "a"))
	if err == nil || !strings.HasSuffix(err.Error(), "no zone was found for "+record) {
		t.Errorf("no zone: %v", err)
	}
	z.resolver.add(t, "shop.test. 1 SOA ns1.shop.test. root.shop.test. 1 1 1 1 1")
	err = z.solver(t, quick(2*time.Second), dns01.Options{}).Wait(t.Context(), challenge("www.shop.test", "a"))
	if err == nil || !strings.HasSuffix(err.Error(), "the zone shop.test. has no name servers") {
		t.Errorf("no servers: %v", err)
	}
	z.resolver.add(t, "shop.test. 1 NS ns1.shop.test.")
	err = z.solver(t, quick(2*time.Second), dns01.Options{}).Wait(t.Context(), challenge("www.shop.test", "a"))
	if err == nil || !strings.HasSuffix(err.Error(), "the name server ns1.shop.test.: it has no address") {
		t.Errorf("no address: %v", err)
	}
}

func TestTheZoneOfTheTargetIsNotThatOfTheAlias(t *testing.T) {
	z := newZone(t, 1)
	c := challenge("www.shop.test", "a")
	// The resolver tells of the zone by the answer that there is no record, and for an alias it is that of its target.
	z.resolver.nothing(t, record, "shop.test. 1 SOA ns1.shop.test. root.shop.test. 1 1 1 1 1")
	z.authorities[0].txt(record, c.DNS01KeyAuthorization())
	s := z.solver(t, quick(time.Minute), dns01.Options{})
	if err := s.Wait(t.Context(), c); err != nil {
		t.Error(err)
	}
	if n := z.resolver.questions("udp SOA shop.test."); n != 0 {
		t.Errorf("the parent was asked for %d times", n)
	}
	t.Setenv("LEGO_DISABLE_CNAME_SUPPORT", "true")
	z.resolver.add(t, record+" 1 CNAME elsewhere.test.")
	z.resolver.nothing(t, record, "test. 1 SOA ns.test. root.test. 1 1 1 1 1")
	if err := z.solver(t, quick(time.Minute), dns01.Options{}).Wait(t.Context(), c); err != nil {
		t.Error(err)
	}
	if n := z.resolver.questions("udp SOA shop.test."); n != 1 {
		t.Errorf("the parent was asked for %d times", n)
	}
}

func TestChecksAreDisabled(t *testing.T) {
	const wait = 50 * time.Millisecond
	delay := static.Duration(wait)
	tests := map[string]static.DNSChallenge{
		"propagation": {Propagation: &static.Propagation{DisableChecks: true, DelayBeforeChecks: delay}},
		"deprecated":  {DisablePropagationCheck: true, DelayBeforeCheck: delay},
		"both": {
			DisablePropagationCheck: true, DelayBeforeCheck: delay,
			Propagation: &static.Propagation{RequireAllRNS: true, DelayBeforeChecks: static.Duration(time.Hour)},
		},
		"none required": {Propagation: &static.Propagation{DisableANSChecks: true, DelayBeforeChecks: delay}},
	}
	for name, options := range tests {
		t.Run(name, func(t *testing.T) {
			options.Resolvers = []string{"127.0.0.1:1"}
			s, err := dns01.New(quick(time.Minute), dns01.Options{Challenge: options})
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if err := s.Wait(t.Context(), challenge("www.shop.test", "a")); err != nil {
				t.Error(err)
			}
			if passed := time.Since(begin); passed < wait {
				t.Errorf("it waited for %s", passed)
			}
		})
	}
}
