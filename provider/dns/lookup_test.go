package dns

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mdns "github.com/miekg/dns"
)

const shortConf = "search ns.test test\noptions ndots:2 timeout:30 attempts:1\n"

// lookupCase is a name, the content of files and servers, and the result.
type lookupCase struct {
	name    string
	host    string
	hosts   string
	records map[string][]string
	want    []string
	ttl     time.Duration
	err     string
}

// soa lets the absence of a name of the zone hold for 30 seconds.
const soa = "test. 60 IN SOA ns.test. admin.test. 1 2 3 4 30"

func namesThatExist() []lookupCase {
	return []lookupCase{
		{
			name: "both families, the smaller time to live", host: "a.b.example",
			records: map[string][]string{
				"a.b.example. A":    {"a.b.example. 60 IN A 192.0.2.1", "a.b.example. 30 IN A 192.0.2.2"},
				"a.b.example. AAAA": {"a.b.example. 40 IN AAAA 2001:db8::1"},
			},
			want: []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}, ttl: 30 * time.Second,
		},
		{
			name: "one family alone", host: "a.b.example",
			records: map[string][]string{
				"a.b.example. A":    {soa},
				"a.b.example. AAAA": {"a.b.example. 90 IN AAAA 2001:db8::1"},
			},
			want: []string{"2001:db8::1"}, ttl: 90 * time.Second,
		},
		{
			name: "the search list, the longest name first", host: "db",
			records: map[string][]string{
				"db.ns.test. A": {soa}, "db.ns.test. AAAA": {soa},
				"db.test. A": {"db.test. 60 IN A 192.0.2.3"}, "db.test. AAAA": {},
				"db. A": {"db. 60 IN A 192.0.2.9"},
			},
			want: []string{"192.0.2.3"}, ttl: time.Minute,
		},
		{
			name: "enough dots: the name itself first", host: "a.b.c",
			records: map[string][]string{
				"a.b.c. A": {"a.b.c. 60 IN A 192.0.2.4"}, "a.b.c. AAAA": {},
				"a.b.c.ns.test. A": {"a.b.c.ns.test. 60 IN A 192.0.2.9"},
			},
			want: []string{"192.0.2.4"}, ttl: time.Minute,
		},
		{
			name: "a name with a dot at the end is not searched for", host: "db.",
			records: map[string][]string{"db.ns.test. A": {"db.ns.test. 60 IN A 192.0.2.9"}},
			want:    []string{}, ttl: negativeTTL,
		},
		{
			name: "aliases", host: "a.b.example",
			records: map[string][]string{
				"a.b.example. A": {
					"a.b.example. 20 IN CNAME c.example.", "c.example. 60 IN CNAME D.example.",
					"d.example. 60 IN A 192.0.2.5", "other.example. 60 IN A 192.0.2.9",
				},
				"a.b.example. AAAA": {"a.b.example. 20 IN CNAME c.example."},
			},
			want: []string{"192.0.2.5"}, ttl: 20 * time.Second,
		},
		{
			name: "aliases in a circle", host: "a.b.example",
			records: map[string][]string{
				"a.b.example. A":    {"a.b.example. 20 IN CNAME c.example.", "c.example. 60 IN CNAME a.b.example."},
				"a.b.example. AAAA": {},
			},
			want: []string{}, ttl: negativeTTL,
		},
	}
}

func otherNames() []lookupCase {
	return []lookupCase{
		{
			name: "no such name: as long as the zone says", host: "gone",
			records: map[string][]string{
				"gone.ns.test. A": {"!NXDOMAIN", soa}, "gone.ns.test. AAAA": {"!NXDOMAIN", soa},
				"gone.test. A": {"!NXDOMAIN", soa}, "gone.test. AAAA": {"!NXDOMAIN", soa},
				"gone. A": {"!NXDOMAIN", soa}, "gone. AAAA": {"!NXDOMAIN", soa},
			},
			want: []string{}, ttl: 30 * time.Second,
		},
		{
			name: "a failure ends the search", host: "db",
			records: map[string][]string{
				"db.ns.test. A": {"!SERVFAIL"}, "db.ns.test. AAAA": {"!SERVFAIL"},
				"db.test. A": {"db.test. 60 IN A 192.0.2.9"},
			},
			want: []string{}, err: "answers SERVFAIL",
		},
		{
			name: "a server that drops AAAA", host: "a.b.example",
			records: map[string][]string{
				"a.b.example. A": {"a.b.example. 60 IN A 192.0.2.1"}, "a.b.example. AAAA": {"drop"},
			},
			want: []string{"192.0.2.1"}, ttl: time.Minute,
		},
		{
			name: "hosts win", host: "DB", hosts: "192.0.2.7 other db # comment\n2001:db8::7\tdb.\nbad db\n192.0.2.8 db",
			records: map[string][]string{"db.ns.test. A": {"db.ns.test. 60 IN A 192.0.2.9"}},
			want:    []string{"192.0.2.7", "192.0.2.8", "2001:db8::7"}, ttl: DefaultMaxTTL,
		},
		{name: "localhost", host: "localhost", want: []string{"127.0.0.1", "::1"}, ttl: DefaultMaxTTL},
		{name: "a name below localhost", host: "a.localhost.", want: []string{"127.0.0.1", "::1"}, ttl: DefaultMaxTTL},
		{
			name: "localhost in hosts", host: "localhost", hosts: "127.0.0.1 localhost", want: []string{"127.0.0.1"},
			ttl: DefaultMaxTTL,
		},
		{name: "an address", host: "::ffff:192.0.2.1", want: []string{"192.0.2.1"}, ttl: DefaultMaxTTL},
		{
			name: "an international name", host: "bücher.a.example",
			records: map[string][]string{
				"xn--bcher-kva.a.example. A": {"xn--bcher-kva.a.example. 60 IN A 192.0.2.1"}, "xn--bcher-kva.a.example. AAAA": {},
			},
			want: []string{"192.0.2.1"}, ttl: time.Minute,
		},
		{name: "a bad name", host: strings.Repeat("a", 64) + ".example", want: []string{}, err: "bad name"},
	}
}

func TestLookup(t *testing.T) {
	for _, test := range append(namesThatExist(), otherNames()...) {
		t.Run(test.name, func(t *testing.T) {
			z := serve(t)
			z.set(test.records)
			conf := shortConf
			if strings.Contains(fmt.Sprint(test.records), "drop") {
				conf = strings.Replace(conf, "timeout:30", "timeout:3", 1)
			}
			found := loadSystem(z.files(t, conf, test.hosts)).lookup(t.Context(), test.host)
			if diff := cmp.Diff(test.want, addresses(found)); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			err := found.err()
			if (err == nil) != (test.err == "") || (err != nil && !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error = %v, want %q", err, test.err)
			}
			if err == nil && found.validity() != test.ttl {
				t.Errorf("time to live = %s, want %s", found.validity(), test.ttl)
			}
		})
	}
}

func TestLookupByTCP(t *testing.T) {
	z := serve(t)
	z.cut = true
	z.set(map[string][]string{"a.b.c. A": {"a.b.c. 60 IN A 192.0.2.1"}, "a.b.c. AAAA": {}})
	found := loadSystem(z.files(t, shortConf, "")).lookup(t.Context(), "a.b.c")
	if diff := cmp.Diff([]string{"192.0.2.1"}, addresses(found)); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if z.count("tcp a.b.c. A") != 1 {
		t.Errorf("queried %v, want once by TCP", z.asked)
	}
}

func TestLookupWithoutEDNS(t *testing.T) {
	z := serve(t)
	z.rude = true
	z.set(map[string][]string{"a.b.c. A": {"a.b.c. 60 IN A 192.0.2.1"}, "a.b.c. AAAA": {}})
	found := loadSystem(z.files(t, shortConf, "")).lookup(t.Context(), "a.b.c")
	if diff := cmp.Diff([]string{"192.0.2.1"}, addresses(found)); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestLookupQueriesTheNextServer(t *testing.T) {
	bad, good := serve(t), serve(t)
	bad.set(map[string][]string{"a.b.c. A": {"!REFUSED"}, "a.b.c. AAAA": {"!SERVFAIL"}})
	good.set(map[string][]string{
		"a.b.c. A":    {"a.b.c. 60 IN A 192.0.2.1"},
		"a.b.c. AAAA": {"a.b.c. 60 IN AAAA 2001:db8::1"},
	})
	options := bad.files(t, shortConf, "")
	options.Resolvers = []string{bad.address, good.address}
	found := loadSystem(options).lookup(t.Context(), "a.b.c")
	if diff := cmp.Diff([]string{"192.0.2.1", "2001:db8::1"}, addresses(found)); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestLookupEndsWithItsContext(t *testing.T) {
	z := serve(t)
	z.set(map[string][]string{"a.b.c. A": {"drop"}, "a.b.c. AAAA": {"drop"}})
	options := z.files(t, "options timeout:30 attempts:5\n", "")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan families, 1)
	go func() { done <- loadSystem(options).lookup(ctx, "a.b.c") }()
	for z.count("udp a.b.c. A") == 0 || z.count("udp a.b.c. AAAA") == 0 {
		runtimeYield()
	}
	cancel()
	if found := <-done; found.err() == nil {
		t.Error("a lookup that was ended has no error")
	}
}

// runtimeYield lets the server's goroutines run while a test waits for what they have noted.
func runtimeYield() {
	timer := time.NewTimer(time.Millisecond)
	<-timer.C
}

func TestSystemServers(t *testing.T) {
	tests := []struct {
		name, conf string
		resolvers  []string
		want       []string
	}{
		{"those of resolv.conf", "nameserver 192.0.2.1\nnameserver 2001:db8::1\n", nil, []string{
			"192.0.2.1:53",
			"[2001:db8::1]:53",
		}},
		{"none: that of this machine", "", nil, []string{"127.0.0.1:53"}},
		{
			"the option wins", "nameserver 192.0.2.1\n",
			[]string{"192.0.2.2", "192.0.2.3:5353", "[2001:db8::1]", "2001:db8::2"},
			[]string{"192.0.2.2:53", "192.0.2.3:5353", "[2001:db8::1]:53", "[2001:db8::2]:53"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			options := (&zone{}).files(t, test.conf, "")
			options.Resolvers = test.resolvers
			if diff := cmp.Diff(test.want, loadSystem(options).servers); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
	if got := loadSystem(Options{
		ResolvConf: "/does/not/exist",
		Hosts:      "/does/not/exist",
	}).servers; got[0] != "127.0.0.1:53" {
		t.Errorf("servers without files = %v", got)
	}
}

func FuzzHosts(f *testing.F) {
	f.Add("127.0.0.1 localhost # comment\n::1\tlocalhost ip6-localhost\n")
	f.Add("fe80::1%lo0 localhost\nbad\n1.2.3.4\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, addresses := range parseHosts(strings.NewReader(text)) {
			if name != hostKey(name) && !strings.HasSuffix(name, ".") || len(addresses) == 0 {
				t.Errorf("%q has %v", name, addresses)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	message := new(mdns.Msg).SetQuestion("a.", mdns.TypeA)
	for _, line := range []string{"a. 1 IN CNAME b.", "b. 1 IN A 192.0.2.1", "b. 1 IN AAAA 2001:db8::1"} {
		record, err := mdns.NewRR(line)
		if err != nil {
			f.Fatal(err)
		}
		message.Answer = append(message.Answer, record)
	}
	packet, err := message.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packet)
	f.Fuzz(func(t *testing.T, packet []byte) {
		answer := new(mdns.Msg)
		if answer.Unpack(packet) != nil {
			return
		}
		for _, address := range read(answer, "a.", mdns.TypeA).addresses {
			if !address.Is4() {
				t.Errorf("%s is no IPv4 address", address)
			}
		}
	})
}
