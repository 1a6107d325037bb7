package rule_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/router/rule/expression"
	"github.com/sluiceproxy/sluice/router/rule/expression/expressiontest"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

// FuzzParse checks that no text panics, that positions lie within the text, that the canonical text parses to an equal
// rule, that the explanation agrees with the rule, and that keys and hosts lose no connection.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"canonical.golden", "errors.golden"} {
		for line := range strings.Lines(expressiontest.ReadFile(f, filepath.Join("testdata", name))) {
			f.Add(strings.TrimSpace(line))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := rule.Parse(text)
		if err != nil {
			wrong, is := errors.AsType[*rule.Error](err)
			if !is || wrong.Column < 1 || wrong.Column > len(text)+1 || wrong.Message == "" {
				t.Fatalf("%q: error %v has no place in the text", text, err)
			}
			return
		}
		checkRule(t, parsed)
	})
}

func checkRule(t *testing.T, parsed *rule.Rule) {
	t.Helper()
	canonical := parsed.Canonical()
	again := mustParse(t, canonical)
	if again.Canonical() != canonical {
		t.Fatalf("%q: printed as %q and then as %q", parsed, canonical, again.Canonical())
	}
	if again.NeedsSNI() != parsed.NeedsSNI() || again.IsCatchAll() != parsed.IsCatchAll() {
		t.Fatalf("%q: the canonical rule %q is of another kind", parsed, canonical)
	}
	probes := []string{"-", "a.example.com 192.0.2.1 h2", "example.com 2001:db8::1 http/1.1 x", "- ::ffff:10.0.0.1"}
	for _, key := range parsed.Keys()[:min(len(parsed.Keys()), 8)] {
		probes = append(probes, key.Host+" 192.0.2.1", "x."+key.Host+" 192.0.2.1 h2")
	}
	for _, probe := range probes {
		checkProbe(t, parsed, again, connection(probe))
	}
}

func checkProbe(t *testing.T, parsed, again *rule.Rule, c *rule.Connection) {
	t.Helper()
	matched := parsed.Match(c)
	if again.Match(c) != matched {
		t.Fatalf("%q: the canonical rule %q disagrees on %+v", parsed, again, c)
	}
	if explained, _ := parsed.Explain(c); explained != matched {
		t.Fatalf("%q: Explain says %t of %+v", parsed, explained, c)
	}
	if !matched {
		return
	}
	if parsed.IsCatchAll() {
		return
	}
	of := expression.HostKey{Kind: expression.ExactHost, Host: c.ServerName}
	for _, key := range parsed.Keys() {
		if both, possible := key.Both(of); possible && both == of {
			return
		}
	}
	t.Fatalf("%q: matches %+v, which no key of %v finds", parsed, c, parsed.Keys())
}
