package tcp_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

// https are the hosts of HTTP routers with TLS; "*" stands for one without Host.
type https []string

func (h https) Any() bool { return len(h) > 0 }

func (h https) Names(host string) bool {
	_, parent, _ := strings.Cut(host, ".")
	return slices.Contains(h, host) || slices.Contains(h, "*."+parent)
}

func (h https) CatchAll() bool { return slices.Contains(h, "*") }

// entryOf makes an entry of rules, of which those behind "tls " are for TLS. A number before the rule is its priority.
func entryOf(t *testing.T, hosts https, rules ...string) *tcp.Entry[string] {
	t.Helper()
	var plain, secure []*tcp.Route[string]
	for i, text := range rules {
		text, tls := strings.CutPrefix(text, "tls ")
		parsed := mustParse(t, text)
		priority, err := tcp.Priority(0, parsed)
		if err != nil {
			t.Fatal(err)
		}
		route := &tcp.Route[string]{Name: rules[i], Rule: parsed, Priority: priority, Value: rules[i]}
		if tls {
			secure = append(secure, route)
		} else {
			plain = append(plain, route)
		}
	}
	return &tcp.Entry[string]{Plain: tcp.NewTable(plain), Secure: tcp.NewTable(secure), HTTPS: hosts}
}

// TestOrderOfDecisions is the order in which Traefik v3 decides between TCP routers and HTTP routers (its package
// server/router/tcp). An answer "http" also stands for connections that nothing takes.
func TestOrderOfDecisions(t *testing.T) {
	const (
		all, tlsAll  = "HostSNI(`*`)", "tls HostSNI(`*`)"
		tlsA         = "tls HostSNI(`a.test`)"
		tlsWild      = "tls HostSNI(`*.test`)"
		tlsRegexp    = "tls HostSNIRegexp(`^a`)"
		tlsH2        = "tls ALPN(`h2`)"
		client       = "ClientIP(`192.0.2.0/24`)"
		tlsClient    = "tls ClientIP(`192.0.2.0/24`)"
		tlsNotB      = "tls !HostSNI(`b.test`)"
		tlsTwice     = "tls HostSNI(`*`) || HostSNI(`*`)"
		tlsAClient   = "tls HostSNI(`a.test`) && ClientIP(`192.0.2.1`)"
		tlsAPostgres = "tls HostSNI(`a.test`) && ALPN(`postgresql`)"
		http         = "http"
	)
	type want struct {
		stage  tcp.Stage
		sni    string
		alpn   []string
		client string
		route  string
	}
	tests := []struct {
		name  string
		https https
		rules []string
		needs tcp.Needs
		wants []want
	}{
		{"nothing", nil, nil, 0, []want{{tcp.Plain, "", nil, "", http}, {tcp.TLS, "a.test", nil, "", http}}},
		{
			"plain routers alone take connections unread", nil,
			[]string{all, client},
			tcp.NeedsUnread | tcp.NeedsPlain,
			[]want{
				{tcp.Unread, "", nil, "", all}, {tcp.Unread, "", nil, "192.0.2.1", client}, {tcp.Plain, "", nil, "", all},
			},
		},
		{
			"unread by the client, and read where none matches", nil,
			[]string{client},
			tcp.NeedsUnread | tcp.NeedsPlain,
			[]want{{tcp.Unread, "", nil, "198.51.100.1", http}, {tcp.Unread, "", nil, "192.0.2.9", client}},
		},
		{
			"beside HTTPS bytes are read first",
			https{"h.test"},
			[]string{all},
			tcp.NeedsPlain,
			[]want{{tcp.Plain, "", nil, "", all}, {tcp.TLS, "h.test", nil, "", http}, {tcp.TLS, "a.test", nil, "", http}},
		},
		{
			"beside TCP with TLS bytes are read first", nil,
			[]string{all, tlsA},
			tcp.NeedsPlain | tcp.NeedsHello,
			[]want{{tcp.Plain, "", nil, "", all}, {tcp.TLS, "a.test", nil, "", tlsA}, {tcp.TLS, "b.test", nil, "", http}},
		},
		{
			"HTTPS hosts come before TCP hosts",
			https{"a.test"},
			[]string{tlsA},
			tcp.NeedsHello,
			[]want{{tcp.TLS, "a.test", nil, "", http}},
		},
		{
			"HTTPS wildcards too",
			https{"*.test"},
			[]string{tlsA, tlsAll},
			tcp.NeedsHello,
			[]want{{tcp.TLS, "a.test", nil, "", http}, {tcp.TLS, "a.b.test", nil, "", tlsAll}},
		},
		{
			"HTTPS hosts come before rules without hosts",
			https{"a.test"},
			[]string{tlsRegexp, tlsH2, tlsClient, tlsNotB},
			tcp.NeedsHello,
			[]want{
				{tcp.TLS, "a.test", []string{"h2"}, "192.0.2.1", http},
				{tcp.TLS, "ab.test", nil, "", tlsRegexp},
				{tcp.TLS, "c.test", nil, "", tlsNotB},
				{tcp.TLS, "b.test", nil, "", http},
			},
		},
		{
			"TCP routers that are no catch-all come before HTTPS without Host",
			https{"*"},
			[]string{tlsA, tlsWild, tlsRegexp, tlsH2},
			tcp.NeedsHello,
			[]want{
				{tcp.TLS, "a.test", nil, "", tlsRegexp},
				{tcp.TLS, "b.test", nil, "", tlsWild},
				{tcp.TLS, "x.other", []string{"h2"}, "", tlsH2},
				{tcp.TLS, "x.other", nil, "", http},
				{tcp.TLS, "", nil, "", http},
			},
		},
		{
			"HTTPS without Host comes before the catch-all",
			https{"*"},
			[]string{tlsAll},
			tcp.NeedsHello,
			[]want{{tcp.TLS, "a.test", nil, "", http}, {tcp.TLS, "", nil, "", http}},
		},
		{
			"the catch-all comes before HTTPS without a router",
			https{"h.test"},
			[]string{tlsAll},
			tcp.NeedsHello,
			[]want{{tcp.TLS, "a.test", nil, "", tlsAll}, {tcp.TLS, "", nil, "", tlsAll}, {tcp.TLS, "h.test", nil, "", http}},
		},
		{
			"a rule that is more than the catch-all is none",
			https{"*"},
			[]string{tlsTwice},
			tcp.NeedsHello,
			[]want{{tcp.TLS, "a.test", nil, "", tlsTwice}},
		},
		{
			"conditions beside the host", nil,
			[]string{tlsAClient, tlsAPostgres, tlsA},
			tcp.NeedsHello,
			[]want{
				{tcp.TLS, "a.test", nil, "192.0.2.1", tlsAClient},
				{tcp.TLS, "a.test", []string{"postgresql"}, "", tlsAPostgres},
				{tcp.TLS, "a.test", nil, "", tlsA},
			},
		},
		{
			"STARTTLS goes to TCP routers alone",
			https{"a.test", "*"},
			[]string{tlsA, tlsAll, all},
			tcp.NeedsPlain | tcp.NeedsHello,
			[]want{
				{tcp.StartTLS, "a.test", nil, "", tlsA},
				{tcp.StartTLS, "x.test", nil, "", tlsAll},
				{tcp.TLS, "a.test", nil, "", http},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entry := entryOf(t, test.https, test.rules...)
			if got := entry.Needs(); got != test.needs {
				t.Errorf("needs %b, want %b", got, test.needs)
			}
			for _, want := range test.wants {
				client := netip.Addr{}
				if want.client != "" {
					client = netip.MustParseAddr(want.client)
				}
				c := rule.NewConnection(want.sni, want.alpn, client)
				got := http
				if route := entry.Route(want.stage, &c); route != nil {
					got = route.Value
				}
				if got != want.route {
					t.Errorf("stage %d, %q %q from %q goes to %s, want %s", want.stage, want.sni, want.alpn, want.client, got,
						want.route)
				}
			}
		})
	}
}

func TestPreferHTTPReadsFirstBytes(t *testing.T) {
	entry := entryOf(t, nil, "HostSNI(`*`)")
	entry.PreferHTTP = true
	if got, want := entry.Needs(), tcp.NeedsPlain|tcp.NeedsFirst; got != want {
		t.Errorf("needs %b, want %b", got, want)
	}
	entry = entryOf(t, nil, "tls HostSNI(`*`)")
	entry.PreferHTTP = true
	if got, want := entry.Needs(), tcp.NeedsHello; got != want {
		t.Errorf("needs %b, want %b", got, want)
	}
}
