package dns01_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/certificate/acme/dns01"
	"github.com/sluiceproxy/sluice/static"
)

func TestResolversHavePorts(t *testing.T) {
	got, err := dns01.Resolvers(static.DNSChallenge{
		Resolvers: []string{"192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:5353", "dns.test"},
	})
	want := []string{
		"192.0.2.1:53", "192.0.2.1:5353", "[2001:db8::1]:53", "[2001:db8::1]:53", "[2001:db8::1]:5353", "dns.test:53",
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"":                   `dnsChallenge.resolvers[0]: "" is not an address of a DNS server`,
		"192.0.2.1:x":        `dnsChallenge.resolvers[0]: "192.0.2.1:x" has no valid port`,
		"192.0.2.1:0":        `dnsChallenge.resolvers[0]: "192.0.2.1:0" has no valid port`,
		"https://dns.test/q": `dnsChallenge.resolvers[0]: "https://dns.test/q" has no valid port`,
		"a b":                `dnsChallenge.resolvers[0]: "a b" is not an address of a DNS server`,
	} {
		_, err := dns01.New(quick(0), dns01.Options{Challenge: static.DNSChallenge{Resolvers: []string{text}}})
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestResolversOfTheSystem(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resolv.conf")
	text := "search test\nnameserver 192.0.2.1\nnameserver 2001:db8::1\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"192.0.2.1:53", "[2001:db8::1]:53"}, dns01.SystemResolvers(file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := dns01.SystemResolvers(file + ".none"); len(got) != 4 {
		t.Errorf("without the file: %q", got)
	}
}
