package ingressnginx

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/router/rule"
)

// TestAliasesOfRules demands that what is kept are names and expressions which rules can have, and that those are not
// left out which nginx and rules have in common.
func TestAliasesOfRules(t *testing.T) {
	for alias, want := range map[string]bool{
		"shop.example.net": true, "SHOP.example.net": true,
		"shop.example.net.": true, "under_score.test": true, "10.0.0.1": true,
		"a": true, "*.example.net": true, "shop.*": true, `~^shop\d{1,3}\.example\.net$`: true, "~^(?<name>.+)$": true,
		"~":                     false,
		"shop.example.net:8080": false, "[::1": false, "::1]": false, "[::1]": true, "::1": true,
		"a..b": false, ".example.net": false, "a b": false, "*": false, "a*.b": false,
		"*.a.*": false, "a.*.b": false, "*.1": false, "*.": false, ".*": false, "..": false, "": false, "(a)": false,
		"~^(?!x)": false, "~(": false, "~{name}": false, "~{name:a}": false, "~\u00e9": false, `~\p{Greek}`: false,
		"~((a{100}){100}){9}": false, "~" + strings.Repeat("a", 5000): false, strings.Repeat("a", 256): false,
	} {
		_, err := aliasCost(alias)
		if (err == nil) != want {
			t.Errorf("%.80q: %v", alias, err)
		}
		if err == nil {
			_, match := aliasMatch(alias)
			if _, wrong := rule.New(&match); wrong != nil {
				t.Errorf("%.80q: %v", alias, wrong)
			}
		}
	}
}

// TestAliasesFit demands that one alias costs no other alias, and no Ingress, its place.
func TestAliasesFit(t *testing.T) {
	short := make([]string, 4000)
	for i := range short {
		short[i] = fmt.Sprintf("%x", i)
	}
	var heavy []string
	for i := range 40 {
		heavy = append(heavy, fmt.Sprintf("~^%d(abcdefgh{90}){9}$", i))
	}
	paths := "a.example.com=P:/"
	for i := range 20 {
		paths += fmt.Sprintf(",P:/%d", i)
	}
	for name, row := range map[string]struct {
		aliases string
		kept    func(int) bool
		faults  int
	}{
		"none":                {"", func(count int) bool { return count == 0 }, 0},
		"valid":               {"a.test,~^b$,*.c.test", func(count int) bool { return count == 3 }, 0},
		"one with port":       {"a.test,a.test:8080", func(count int) bool { return count == 1 }, 1},
		"two without":         {"a.test,a.test:8080,~(", func(count int) bool { return count == 1 }, 2},
		"heavy ones":          {strings.Join(heavy, ","), func(count int) bool { return count > 0 && count < 40 }, 2},
		"too many":            {strings.Join(short, ","), func(count int) bool { return count > 1000 && count < 4000 }, 1},
		"a host, in capitals": {"B.test,b.test.,c.test", func(count int) bool { return count == 1 }, 0},
	} {
		plan := planOf("a.example.com", neighbours{"b.test": false},
			object{
				name: "x", rules: []string{"a.example.com=P:/x"}, annotations: map[string]string{"server-alias": row.aliases},
			},
			object{name: "y", age: 1, rules: []string{paths}})
		if !row.kept(len(plan.Aliases)) || len(plan.AliasFaults) != row.faults {
			t.Errorf("%s: %d aliases, %q", name, len(plan.Aliases), plan.AliasFaults)
		}
		if excess := backend.Excess(len(plan.Locations), len(plan.Aliases)); excess != nil {
			t.Errorf("%s: %s", name, excess.Reason)
		}
		var any []dynamic.Match
		for _, names := range plan.hosts() {
			any = append(any, names.any...)
		}
		if _, err := rule.New(&dynamic.Match{Any: any}); err != nil {
			t.Errorf("%s: %.200v", name, err)
		}
		owner := ""
		if row.aliases != "" {
			owner = "x"
		}
		if plan.AliasOwner.Name != owner {
			t.Errorf("%s: the aliases belong to %q", name, plan.AliasOwner)
		}
	}
}

// TestAliasThatIsNoHost demands that the other aliases are served, and that the Ingress has a verdict.
func TestAliasThatIsNoHost(t *testing.T) {
	victim := placed{"victim", "victim.test", "/", "web", map[string]string{
		"server-alias": "alias.test,alias.test:8080,~^(?=x).*$,~^re[0-9]\\.test$",
	}}
	configuration := translated(t, hostile(victim.object()).provider(defaultConfig()))
	served, _ := activate(configuration, named)
	for _, host := range []string{"victim.test", "alias.test", "re1.test", "neighbour.test"} {
		if got := served.status(t, http.MethodGet, &exchange{host: host}); got != http.StatusOK {
			t.Errorf("%s: %d", host, got)
		}
	}
	reports := func(verdict dynamic.Verdict) bool {
		return strings.Contains(verdict.Reason, "server-alias of victim.test")
	}
	if !slices.ContainsFunc(configuration.Verdicts, reports) {
		t.Errorf("no verdict: %v", configuration.Verdicts)
	}
}
