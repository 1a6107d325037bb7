package rule_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

func mustParse(tb testing.TB, text string) *rule.Rule {
	tb.Helper()
	parsed, err := rule.Parse(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return parsed
}

// connection reads "server name, client address, protocols..." with missing parts at the end or "-" for none.
func connection(text string) *rule.Connection {
	fields := strings.Fields(text)
	part := func(i int) string {
		if i >= len(fields) || fields[i] == "-" {
			return ""
		}
		return fields[i]
	}
	client, _ := netip.ParseAddr(part(1)) // The zero Addr is an unknown one.
	c := rule.NewConnection(part(0), fields[min(2, len(fields)):], client)
	return &c
}

// decision is a connection and whether a rule accepts it.
type decision struct {
	rule, connection string
	want             bool
}

func decide(t *testing.T, decisions []decision) {
	t.Helper()
	for _, d := range decisions {
		parsed, c := mustParse(t, d.rule), connection(d.connection)
		if got := parsed.Match(c); got != d.want {
			t.Errorf("%s: %q: got %t, want %t", d.rule, d.connection, got, d.want)
		}
		if again := mustParse(t, parsed.Canonical()); again.Match(c) != d.want {
			t.Errorf("%s: the canonical rule %s disagrees on %q", d.rule, again, d.connection)
		}
	}
}

func TestHostSNICatchAll(t *testing.T) {
	decide(t, []decision{
		{"HostSNI(`*`)", "-", true},
		{"HostSNI(`*`)", "db.example.com", true},
		{"HostSNI(`*`)", "- 192.0.2.1 h2", true},
		{"!HostSNI(`*`)", "-", false},
		{"!HostSNI(`*`)", "db.example.com", false},
	})
}

func TestHostSNI(t *testing.T) {
	decide(t, []decision{
		{"HostSNI(`db.example.com`)", "db.example.com", true},
		{"HostSNI(`db.example.com`)", "mq.example.com", false},
		{"HostSNI(`db.example.com`)", "a.db.example.com", false},
		{"HostSNI(`db.example.com`)", "example.com", false},
		{"HostSNI(`db.example.com`)", "-", false},
		{"HostSNI(`DB.Example.COM`)", "db.example.com", true},
		{"HostSNI(`db.example.com`)", "DB.EXAMPLE.COM", true},
		{"HostSNI(`db.example.com.`)", "db.example.com", true},
		{"HostSNI(`db.example.com`)", "db.example.com.", true},
		{"HostSNI(`db_1.example.com`)", "db_1.example.com", true},
		{"HostSNI(`xn--bcher-kva.example`)", "xn--bcher-kva.example", true},
		{"HostSNI(`localhost`)", "localhost", true},
		{"HostSNI(`192.0.2.7`)", "192.0.2.7", true},
		{"HostSNI(`2001:DB8::7`)", "2001:db8::7", true},
		{"HostSNI(`db.example.com`)", "db.example.com.evil.test", false},
		{"HostSNI(`k.example`)", "\u212a.example", false},

		{"HostSNI(`*.example.com`)", "db.example.com", true},
		{"HostSNI(`*.Example.com.`)", "DB.example.com.", true},
		{"HostSNI(`*.example.com`)", "example.com", false},
		{"HostSNI(`*.example.com`)", "a.db.example.com", false},
		{"HostSNI(`*.example.com`)", ".example.com", false},
		{"HostSNI(`*.example.com`)", "dbexample.com", false},
		{"HostSNI(`*.example.com`)", "-", false},
		{"HostSNI(`*.com`)", "example.com", true},
	})
}

func TestHostSNIRegexp(t *testing.T) {
	decide(t, []decision{
		{"HostSNIRegexp(`^[a-z]+\\.example\\.com$`)", "db.example.com", true},
		{"HostSNIRegexp(`^[a-z]+\\.example\\.com$`)", "db1.example.com", false},
		{"HostSNIRegexp(`example`)", "db.example.com", true},
		{"HostSNIRegexp(`^db`)", "DB.example.com", true},
		{"HostSNIRegexp(`^DB`)", "db.example.com", false},
		{"HostSNIRegexp(`(?i)^DB`)", "db.example.com", true},
		{"HostSNIRegexp(`^db\\.example\\.com$`)", "db.example.com.", true},
		{"HostSNIRegexp(`.*`)", "-", true},
		{"HostSNIRegexp(`.+`)", "-", false},
		{"HostSNIRegexp(`^$`)", "-", true},
	})
}

func TestClientIP(t *testing.T) {
	decide(t, []decision{
		{"ClientIP(`192.0.2.7`)", "- 192.0.2.7", true},
		{"ClientIP(`192.0.2.7`)", "- 192.0.2.8", false},
		{"ClientIP(`192.0.2.0/24`)", "- 192.0.2.255", true},
		{"ClientIP(`192.0.2.0/24`)", "- 192.0.3.1", false},
		{"ClientIP(`192.0.2.9/24`)", "- 192.0.2.1", true},
		{"ClientIP(`192.0.2.0/24`)", "- ::ffff:192.0.2.1", true},
		{"ClientIP(`::ffff:192.0.2.0/120`)", "- 192.0.2.1", true},
		{"ClientIP(`2001:db8::/32`)", "- 2001:db8::1", true},
		{"ClientIP(`2001:db8::/32`)", "- 2001:db9::1", false},
		{"ClientIP(`fe80::/10`)", "- fe80::1%eth0", true},
		{"ClientIP(`0.0.0.0/0`)", "- 2001:db8::1", false},
		{"ClientIP(`::/0`)", "- 192.0.2.1", false},
		{"ClientIP(`0.0.0.0/0`)", "-", false},
		{"!ClientIP(`0.0.0.0/0`)", "-", true},
	})
}

func TestALPN(t *testing.T) {
	decide(t, []decision{
		{"ALPN(`h2`)", "- - h2", true},
		{"ALPN(`h2`)", "- - http/1.1 h2", true},
		{"ALPN(`h2`)", "- - http/1.1", false},
		{"ALPN(`h2`)", "- - H2", false},
		{"ALPN(`h2`)", "-", false},
		{"!ALPN(`h2`)", "-", true},
		{"ALPN(`postgresql`)", "db.example.com 192.0.2.1 postgresql", true},
	})
}

// TestOperators has rules of several matchers, and of each in every spelling of its name.
func TestOperators(t *testing.T) {
	decide(t, []decision{
		{"HostSNI(`a`) && ALPN(`h2`)", "a - h2", true},
		{"HostSNI(`a`) && ALPN(`h2`)", "a", false},
		{"HostSNI(`a`) && ALPN(`h2`)", "b - h2", false},
		{"HostSNI(`a`) || ALPN(`h2`)", "b - h2", true},
		{"HostSNI(`a`) || ALPN(`h2`)", "a", true},
		{"HostSNI(`a`) || ALPN(`h2`)", "b", false},
		{"!HostSNI(`a`)", "a", false},
		{"!HostSNI(`a`)", "b", true},
		{"!HostSNI(`a`)", "-", true},
		{"!!HostSNI(`a`)", "a", true},
		{"!(HostSNI(`a`) || HostSNI(`b`))", "b", false},
		{"!(HostSNI(`a`) || HostSNI(`b`))", "c", true},
		{"!(HostSNI(`a`) && ALPN(`h2`))", "a", true},
		{"!(HostSNI(`a`) && ALPN(`h2`))", "a - h2", false},
		{"!(!HostSNI(`a`) || ALPN(`h2`))", "a", true},
		{"HostSNI(`a`) || HostSNI(`b`) && ALPN(`h2`)", "a", true},
		{"HostSNI(`a`) || HostSNI(`b`) && ALPN(`h2`)", "b", false},
		{"(HostSNI(`a`) || HostSNI(`b`)) && ALPN(`h2`)", "a", false},
		{"(HostSNI(`a`) || HostSNI(`b`)) && ALPN(`h2`)", "b - h2", true},
		{"HostSNI(`a`) && !ALPN(`h2`)", "a - http/1.1", true},
		{"HostSNI(`a`) && !ALPN(`h2`)", "a - http/1.1 h2", false},
		{"HostSNI(`a`) && HostSNI(`b`)", "a", false},
		{"HostSNI(`*`) && ClientIP(`192.0.2.0/24`)", "- 192.0.2.1", true},
		{"HostSNI(`*`) && ClientIP(`192.0.2.0/24`)", "- 198.51.100.1", false},
		{"HostSNI(`*`) && !ClientIP(`192.0.2.0/24`)", "- 198.51.100.1", true},
		{"HostSNI(`*`) && !ALPN(`h2`)", "-", true},
		{"HostSNI(`*`) || HostSNI(`a`)", "b", true},
		{"HostSNI(`*.x`) && !HostSNI(`a.x`)", "b.x", true},
		{"HostSNI(`*.x`) && !HostSNI(`a.x`)", "a.x", false},
		{"HostSNI(`*.x`) && HostSNIRegexp(`^a`)", "ab.x", true},
		{"HostSNI(`*.x`) && HostSNIRegexp(`^a`)", "b.x", false},
		{"HostSNI(`a`) && ClientIP(`192.0.2.1`) && ALPN(`h2`)", "a 192.0.2.1 h2", true},
		{"HostSNI(`a`) && ClientIP(`192.0.2.1`) && ALPN(`h2`)", "a 192.0.2.2 h2", false},
		{"HostSNI(`a`) || ClientIP(`192.0.2.1`) || ALPN(`h2`)", "b 192.0.2.1", true},
		{"HostSNI(`a`) && (ClientIP(`192.0.2.1`) || ClientIP(`2001:db8::1`))", "a 2001:db8::1", true},
		{"HostSNI(`a`)&&ALPN(`h2`)", "a - h2", true},
		{" (\tHostSNI(\n\"a\" , ) ) ", "a", true},
		{"hostsni(`a`) && hostsniregexp(`a`) && clientip(`::1`) && alpn(`h2`)", "a ::1 h2", true},
		{"HOSTSNI(`a`) && HOSTSNIREGEXP(`a`) && CLIENTIP(`::1`) && ALPN(`h2`)", "a ::1 h2", true},
		{"Hostsni(`a`) && Hostsniregexp(`a`) && Clientip(`::1`) && Alpn(`h2`)", "a ::1 h2", true},
		{"HostSNI(`a`) && HostSNIRegexp(`a`) && ClientIP(`::1`) && ALPN(`h2`)", "a ::1 h2", true},
	})
}

func TestMatchAllocatesNothing(t *testing.T) {
	parsed := mustParse(t,
		"HostSNI(`*.example.com`) && !HostSNIRegexp(`^(a|b)+\\.`) && ClientIP(`192.0.2.0/24`) && ALPN(`h2`)")
	client, protocols := netip.MustParseAddr("::ffff:192.0.2.1"), []string{"http/1.1", "h2"}
	var c rule.Connection
	matched := true
	allocated := testing.AllocsPerRun(100, func() {
		c = rule.NewConnection("db.example.com.", protocols, client)
		matched = matched && parsed.Match(&c)
	})
	limit := 0.0
	if raceDetector {
		limit = 1 // The pools of package regexp drop items at random under the race detector.
	}
	if !matched || allocated > limit {
		t.Errorf("matched %t with %v allocations, want true with at most %v", matched, allocated, limit)
	}
}
