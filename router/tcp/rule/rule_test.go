package rule_test

import (
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/router/rule/expression"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

func TestHosts(t *testing.T) {
	tests := []struct {
		rule     string
		hosts    []string
		needsSNI bool
	}{
		{"HostSNI(`A.example.com.`)", []string{"a.example.com"}, true},
		{"HostSNI(`*`)", nil, false},
		{"HostSNI(`*.example.com`)", []string{"*.example.com"}, true},
		{"HostSNI(`b`) || HostSNI(`a`) || HostSNI(`B`)", []string{"a", "b"}, true},
		{"HostSNI(`a`) && ClientIP(`192.0.2.1`)", []string{"a"}, true},
		{"HostSNI(`a`) && HostSNI(`b`)", nil, true},
		{"HostSNI(`*.x`) && HostSNI(`a.x`)", []string{"a.x"}, true},
		{"!HostSNI(`a`)", nil, false},
		{"!HostSNI(`a`) && HostSNI(`b`)", []string{"b"}, true},
		{"!!HostSNI(`a`)", []string{"a"}, true},
		{"!(HostSNI(`a`) || !HostSNI(`b`))", []string{"b"}, true},
		{"HostSNI(`*`) || HostSNI(`a`)", []string{"a"}, false},
		{"HostSNI(`a`) || HostSNI(`*`)", []string{"a"}, true},
		{"HostSNI(`*`) && HostSNI(`a`)", []string{"a"}, false},
		{"!HostSNI(`*`) && HostSNI(`a`)", []string{"a"}, true},
		{"HostSNIRegexp(`^a$`)", nil, false},
		{"HostSNIRegexp(`^a$`) && HostSNI(`a`)", []string{"a"}, true},
		{"ClientIP(`192.0.2.1`) || ALPN(`h2`)", nil, false},
	}
	for _, test := range tests {
		parsed := mustParse(t, test.rule)
		if got := parsed.Hosts(); !slices.Equal(got, test.hosts) {
			t.Errorf("%s: the hosts are %q, want %q", test.rule, got, test.hosts)
		}
		if got := parsed.NeedsSNI(); got != test.needsSNI {
			t.Errorf("%s: NeedsSNI is %t", test.rule, got)
		}
	}
}

func TestIsCatchAll(t *testing.T) {
	tests := map[string]bool{
		"HostSNI(`*`)":                   true,
		" ( hostsni(\"*\") ) ":           true,
		"HostSNI(`a`)":                   false,
		"HostSNI(`*.a`)":                 false,
		"!HostSNI(`*`)":                  false,
		"HostSNI(`*`) || HostSNI(`*`)":   false,
		"HostSNI(`*`) && ALPN(`h2`)":     false,
		"HostSNIRegexp(`.*`)":            false,
		"ClientIP(`::/0`) && ALPN(`h2`)": false,
	}
	for text, want := range tests {
		if got := mustParse(t, text).IsCatchAll(); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}

func TestKeys(t *testing.T) {
	exact := func(host string) expression.HostKey {
		return expression.HostKey{Kind: expression.ExactHost, Host: host}
	}
	wildcard := func(host string) expression.HostKey {
		return expression.HostKey{Kind: expression.WildcardHost, Host: host}
	}
	none := []expression.HostKey{{}}
	tests := []struct {
		rule string
		want []expression.HostKey
	}{
		{"HostSNI(`A`)", []expression.HostKey{exact("a")}},
		{"HostSNI(`*.a`)", []expression.HostKey{wildcard("a")}},
		{"HostSNI(`*`)", none},
		{"HostSNI(`a`) && ALPN(`h2`)", []expression.HostKey{exact("a")}},
		{"HostSNI(`a`) || HostSNI(`*.b`) || HostSNI(`a`)", []expression.HostKey{exact("a"), wildcard("b")}},
		{"HostSNI(`a`) || ALPN(`h2`)", none},
		{"HostSNI(`a`) && HostSNI(`b`)", nil},
		{"HostSNI(`x.a`) && HostSNI(`*.a`)", []expression.HostKey{exact("x.a")}},
		{"HostSNI(`*.a`) && HostSNI(`x.a`)", []expression.HostKey{exact("x.a")}},
		{"!HostSNI(`a`)", none},
		{"!(!HostSNI(`a`) || ALPN(`h2`))", []expression.HostKey{exact("a")}},
		{"HostSNIRegexp(`a`) && ClientIP(`::1`)", none},
	}
	for _, test := range tests {
		if got := mustParse(t, test.rule).Keys(); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.rule, got, test.want)
		}
	}
}

func TestExplain(t *testing.T) {
	tests := []struct {
		rule, connection string
		matched          bool
		steps            []string
	}{
		{"HostSNI(`a`) && ALPN(`h2`)", "a - h2", true, []string{
			"HostSNI(`a`): the server name is \"a\"", "ALPN(`h2`): the offered protocols are \"h2\"",
		}},
		{"HostSNI(`a`) && ALPN(`h2`)", "a", false, []string{"ALPN(`h2`): no protocol is offered"}},
		{"HostSNI(`*.a`) || !ClientIP(`::ffff:192.0.2.1`)", "- 192.0.2.1", false, []string{
			"HostSNI(`*.a`): there is no server name", "!ClientIP(`192.0.2.1`): the client address is 192.0.2.1",
		}},
		{"HostSNIRegexp(`^b`) || HostSNI(`*`)", "b", true, []string{
			"HostSNIRegexp(`^b`): the server name is \"b\"", "HostSNI(`*`): the server name is \"b\"",
		}},
		{"ClientIP(`192.0.2.0/24`)", "-", false, []string{"ClientIP(`192.0.2.0/24`): the client address is unknown"}},
		{"ALPN(`x`)", "- - a b c d e f", false, []string{
			`ALPN(` + "`x`" + `): the offered protocols are "a", "b", "c", "d", 2 more`,
		}},
	}
	for _, test := range tests {
		matched, steps := mustParse(t, test.rule).Explain(connection(test.connection))
		got := make([]string, len(steps))
		for i, step := range steps {
			got[i] = step.String()
			if step.Matched != test.matched {
				t.Errorf("%s: %s: Matched is %t", test.rule, step, step.Matched)
			}
		}
		if matched != test.matched || !slices.Equal(got, test.steps) {
			t.Errorf("%s: got %t by %q, want %t by %q", test.rule, matched, got, test.matched, test.steps)
		}
	}
}

// TestHostsAreASCII demands what certificates need of the names of any rule that is valid.
func TestHostsAreASCII(t *testing.T) {
	for _, text := range []string{"HostSNI(`bücher.example`)", "HostSNI(`*.bücher.example`)", "HostSNI(`\u212a`)"} {
		if _, err := rule.Parse(text); err == nil {
			t.Errorf("%s: got no error", text)
		}
	}
}
