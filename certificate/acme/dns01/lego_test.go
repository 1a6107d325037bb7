package dns01_test

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	lego "github.com/go-acme/lego/v5/challenge/dns01"
	"github.com/go-acme/lego/v5/providers/dns/dnsupdate"
	"github.com/go-acme/lego/v5/providers/dns/httpreq"
	"github.com/letsencrypt/challtestsrv"
	"github.com/miekg/dns"

	"github.com/sluiceproxy/sluice/certificate/acme/dns01"
)

// The key of updates.
const (
	tsigKey    = "sluice.test."
	tsigSecret = "c2x1aWNlLXRlc3Qtc2VjcmV0"
)

// askOf makes the providers of lego ask a resolver.
func askOf(t *testing.T, resolver string) {
	t.Helper()
	before := lego.DefaultClient()
	lego.SetDefaultClient(lego.NewClient(&lego.Options{RecursiveNameservers: []string{resolver}}))
	t.Cleanup(func() { lego.SetDefaultClient(before) })
}

// awaitServer waits until a DNS server answers over UDP.
func awaitServer(t *testing.T, address string) {
	t.Helper()
	question := new(dns.Msg).SetQuestion("test.", dns.TypeA)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 1000 {
		if _, err := dns.ExchangeContext(t.Context(), question, address); err == nil {
			return
		}
		<-ticker.C
	}
	t.Fatalf("no server answers at %s", address)
}

// TestHTTPReq solves a delegated challenge by lego's provider httpreq and the DNS server of Let's Encrypt's tests.
func TestHTTPReq(t *testing.T) {
	all, _ := servers(t, 1) // Its address is free once it has stopped, but for a moment.
	address := strings.Replace(all[0].address, "127.0.0.1", "127.0.0.9", 1)
	zone, err := challtestsrv.New(challtestsrv.Config{DNSAddrs: []string{address}, Log: log.New(io.Discard, "", 0)})
	if err != nil {
		t.Fatal(err)
	}
	zone.Run()
	defer zone.Shutdown()
	awaitServer(t, address)
	zone.AddDNSCNAMERecord("_acme-challenge.www.shop.test", "shop.delegated.test")
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var asked struct{ FQDN, Value string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		switch r.URL.Path {
		case "/present":
			zone.AddDNSTXTRecord(asked.FQDN, asked.Value)
		case "/cleanup":
			zone.DeleteDNSTXTRecord(asked.FQDN)
		}
	}))
	defer api.Close()
	askOf(t, address)
	t.Setenv("HTTPREQ_ENDPOINT", api.URL)
	t.Setenv("HTTPREQ_PROPAGATION_TIMEOUT", "20")
	t.Setenv("HTTPREQ_POLLING_INTERVAL", "1")
	p, err := httpreq.NewDNSProvider()
	if err != nil {
		t.Fatal(err)
	}
	s, err := dns01.New(p, dns01.Options{Challenge: recursiveOnly(address)})
	if err != nil {
		t.Fatal(err)
	}
	c := challenge("www.shop.test", "a")
	if err := s.Present(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := zone.GetDNSTXTRecords("shop.delegated.test"); len(got) != 1 || got[0] != c.DNS01KeyAuthorization() {
		t.Errorf("the records are %q", got)
	}
	if err := s.CleanUp(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := zone.GetDNSTXTRecords("shop.delegated.test"); len(got) != 0 {
		t.Errorf("the records remain: %q", got)
	}
}

// TestDNSUpdate solves a challenge by dynamic updates that are signed (RFC 2136 and 8945).
func TestDNSUpdate(t *testing.T) {
	z := newZone(t, 1)
	primary := z.authorities[0]
	primary.add(t, "shop.test. 1 SOA ns1.shop.test. root.shop.test. 1 1 1 1 1")
	primary.updates(func(m *dns.Msg) int {
		for _, one := range m.Ns {
			txt, ok := one.(*dns.TXT)
			switch {
			case ok && one.Header().Class == dns.ClassINET:
				primary.txt(one.Header().Name, txt.Txt...)
			default:
				primary.txt(one.Header().Name)
			}
		}
		return dns.RcodeSuccess
	})
	askOf(t, z.resolver.address)
	t.Setenv("RFC2136_NAMESERVER", primary.address)
	t.Setenv("DNSUPDATE_TSIG_KEY", tsigKey)
	t.Setenv("DNSUPDATE_TSIG_SECRET", tsigSecret)
	t.Setenv("DNSUPDATE_TSIG_ALGORITHM", dns.HmacSHA256)
	t.Setenv("DNSUPDATE_SEQUENCE_INTERVAL", "1")
	p, err := dnsupdate.NewDNSProvider()
	if err != nil {
		t.Fatal(err)
	}
	s := z.solver(t, p, dns01.Options{})
	begin := time.Now()
	order(t.Context(), t, s, "www.shop.test", "shop.test")
	if passed := time.Since(begin); passed < 2*time.Second {
		t.Errorf("two challenges took %s, with pauses of a second", passed)
	}
	if n := primary.questions("udp TXT " + record); n == 0 {
		t.Error("the record was not asked for")
	}
	t.Setenv("DNSUPDATE_TSIG_SECRET", "d3Jvbmc=")
	if p, err = dnsupdate.NewDNSProvider(); err != nil {
		t.Fatal(err)
	}
	s = z.solver(t, p, dns01.Options{})
	c := challenge("www.shop.test", "b")
	if err := s.Present(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	want := "the DNS provider did not write the record of _acme-challenge.www.shop.test: dnsupdate: "
	if err := s.Wait(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("with a wrong key: %v", err)
	}
	if err := s.CleanUp(t.Context(), c); err == nil {
		t.Error("the record was removed with a wrong key")
	}
}
