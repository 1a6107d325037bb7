package resource_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/xds/resource"
)

// matches evaluates a header matcher as Envoy and gRPC define it.
func matches(t *testing.T, of *routev3.HeaderMatcher, header http.Header) bool {
	t.Helper()
	values, present := header[http.CanonicalHeaderKey(of.GetName())]
	if of.GetName() != strings.ToLower(of.GetName()) || of.GetInvertMatch() {
		t.Fatalf("the matcher %v is inverted, or its name is not in lower case", of)
	}
	if _, ok := of.GetHeaderMatchSpecifier().(*routev3.HeaderMatcher_PresentMatch); ok {
		return present == of.GetPresentMatch()
	}
	if !present {
		return false
	}
	value := strings.Join(values, ",")
	switch how := of.GetStringMatch().GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		return value == how.Exact
	case *matcherv3.StringMatcher_Prefix:
		return strings.HasPrefix(value, how.Prefix)
	case *matcherv3.StringMatcher_SafeRegex:
		return regexp.MustCompile("^(?:" + how.SafeRegex.GetRegex() + ")$").MatchString(value)
	}
	t.Fatalf("unknown matcher %v", of)
	return false
}

// routed returns the cluster of the first route that matches; "none" for the one without endpoints.
func routed(t *testing.T, configuration *routev3.RouteConfiguration, header http.Header) string {
	t.Helper()
	for _, one := range configuration.GetVirtualHosts()[0].GetRoutes() {
		if !slices.ContainsFunc(one.GetMatch().GetHeaders(), func(of *routev3.HeaderMatcher) bool {
			return !matches(t, of, header)
		}) {
			if one.GetRoute().GetCluster() == configuration.GetName()+",none" {
				return "none"
			}
			return one.GetRoute().GetCluster()
		}
	}
	t.Fatal("no route matches")
	return ""
}

// all is an Existence in which every subset counts.
type all struct{}

func (all) Exists(int) bool { return true }

// selected returns what environment.Selector chooses, as the name of the cluster.
func selected(t *testing.T, config *dynamic.Environment, header http.Header) string {
	t.Helper()
	selector, err := environment.New(config)
	if err != nil {
		t.Fatal(err)
	}
	choice := selector.Select(selector.Tag(header).Value, all{})
	switch {
	case choice.Subset != environment.NoSubset:
		return config.Subsets[choice.Subset].Service
	case choice.Reason == environment.Any:
		return config.Service
	}
	return "none"
}

// patterns are those of aliases in random options: the pattern, and the value around a tag.
var patterns = []struct{ pattern, before, after string }{
	{"", "", ""},
	{"env=(@);", "env=", ";"},
	{"(@)", "", ""},
	{"(?i)ENV=((@))(?:;.*)?", "env=", ";x=y"},
	{".*env=(@);.*", "a=b; env=", "; c=d"},
	{"(?:.*,)? *virtual-env=(@)(?:[;,].*)?", "user=7, virtual-env=", ",x=y"},
}

// specified is what answers a request, in the plainest form of the rules.
func specified(config *dynamic.Environment, forms []int, header http.Header) string {
	tag, found := "", false
	if values := header[http.CanonicalHeaderKey(config.Header)]; len(values) > 0 {
		tag, found = values[0], true
	}
	for i, form := range forms {
		values := header[http.CanonicalHeaderKey(config.Aliases[i].Name)]
		if found || len(values) == 0 {
			continue
		}
		of := patterns[form]
		inner, begins := strings.CutPrefix(values[0], of.before)
		inner, ends := strings.CutSuffix(inner, of.after)
		if of.pattern != "" && !regexp.MustCompile("^(?:"+environment.TagPattern+")$").MatchString(inner) {
			ends = false
		}
		if begins && ends && inner != "" {
			tag, found = inner, true
		}
	}
	cluster, best, known := "none", "", !config.Strict || slices.Contains(config.Tags, tag)
	for _, one := range config.Subsets {
		known = known || one.Tag == tag
		below := tag == one.Tag || strings.HasPrefix(tag, one.Tag+config.Splitter)
		if tag != "" && below && len(one.Tag) > len(best) {
			cluster, best = one.Service, one.Tag
		}
	}
	if best != "" && known || tag != "" && config.Fallback == dynamic.FallbackReject {
		if !known {
			return "none"
		}
		return cluster
	}
	cluster = "none"
	if config.Fallback == dynamic.FallbackAny {
		cluster = config.Service
	}
	for _, one := range config.Subsets {
		if one.Tag == config.Default {
			cluster = one.Service
		}
	}
	return cluster
}

// randomTag returns a tag of few different words, so that tags meet.
func randomTag(random *rand.Rand, splitter string) string {
	words := []string{"dev", "a", "b", "ab", "a-b", "", "DEV", "a" + splitter, "(a|b)*", "-a", "b-"}
	levels := make([]string, 1+random.IntN(4))
	for i := range levels {
		levels[i] = words[random.IntN(len(words))]
	}
	return strings.Join(levels, splitter)
}

// randomOptions returns options of an environment service, and the forms of its aliases among patterns.
func randomOptions(random *rand.Rand) (*dynamic.Environment, []int) {
	config := &dynamic.Environment{}
	config.SetDefaults()
	config.Header = "X-Env"
	config.Splitter = []string{".", "-", "_", "x", "/"}[random.IntN(5)]
	config.Fallback = []string{"default", "any", "reject"}[random.IntN(3)]
	config.Default = []string{"", "dev", "a"}[random.IntN(3)]
	config.Service, config.Strict = "all@file", random.IntN(2) == 0
	seen := map[string]bool{}
	for range 1 + random.IntN(8) {
		tag := strings.Trim(randomTag(random, config.Splitter), config.Splitter)
		if tag != "" && !seen[tag] {
			seen[tag] = true
			service := fmt.Sprintf("s%d@file", len(seen))
			config.Subsets = append(config.Subsets, dynamic.EnvironmentSubset{Tag: tag, Service: service})
		}
	}
	for range random.IntN(4) {
		config.Tags = append(config.Tags, randomTag(random, config.Splitter))
	}
	var forms []int
	for i := range random.IntN(3) {
		forms = append(forms, random.IntN(len(patterns)))
		config.Aliases = append(config.Aliases, dynamic.EnvironmentAlias{
			Name: fmt.Sprintf("X-Alias-%d", i), Pattern: patterns[forms[i]].pattern,
		})
	}
	if len(config.Subsets) == 0 {
		config.Subsets = []dynamic.EnvironmentSubset{{Tag: "dev", Service: "s1@file"}}
	}
	return config, forms
}

// randomRequest returns the header of a request.
func randomRequest(random *rand.Rand, config *dynamic.Environment, forms []int) http.Header {
	header := http.Header{}
	if random.IntN(3) == 0 {
		header.Set(config.Header, randomTag(random, config.Splitter))
	}
	for i, form := range forms {
		tag := randomTag(random, config.Splitter)
		switch random.IntN(4) {
		case 0:
		case 1:
			header.Set(config.Aliases[i].Name, tag)
		default:
			header.Set(config.Aliases[i].Name, patterns[form].before+tag+patterns[form].after)
		}
	}
	return header
}

// plain returns services of which each is a cluster, and an environment service of them.
func plain(config *dynamic.Environment) services {
	found := services{"svc@file": {Environment: config}, config.Service: leaf()}
	for _, one := range config.Subsets {
		found[one.Service] = leaf()
	}
	return found
}

func leaf() *dynamic.Service { return &dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{}} }

// TestRoutesChooseAsTheRouter evaluates the routes of random environment services for random requests.
func TestRoutesChooseAsTheRouter(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 1))
		config, forms := randomOptions(random)
		bundle, _, err := plain(config).translate("svc@file")
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		valid(t, bundle.Routes[0])
		for range 20 {
			header := randomRequest(random, config, forms)
			got, want := routed(t, bundle.Routes[0], header), selected(t, config, header)
			if plainly := specified(config, forms, header); got != want || got != plainly {
				t.Fatalf("seed %d: %v leads to %s; the router chooses %s, and %s is specified; options %+v",
					seed, header, got, want, plainly, config)
			}
			reached[got]++
		}
		again, err := resource.ReadRoute(bundle.Routes[0])
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(optionsRead(config), again.Environment.Options); diff != "" {
			t.Fatalf("seed %d: the options that are read (-want +got):\n%s", seed, diff)
		}
	}
	if reached["none"] < 100 || reached["all@file"] < 100 || reached["s1@file"] < 100 || reached["s3@file"] < 100 {
		t.Errorf("the requests reach %v", reached)
	}
}

// optionsRead returns the options that are read again: those with an effect, without services.
func optionsRead(config *dynamic.Environment) *dynamic.Environment {
	options := *config
	options.Service, options.Subsets = "", nil
	for _, one := range config.Subsets {
		options.Subsets = append(options.Subsets, dynamic.EnvironmentSubset{Tag: one.Tag})
	}
	if !options.Strict {
		options.Tags = nil
	}
	return &options
}

// firstOf returns the first cluster of a route's answer that is up; "none" without one.
func firstOf(bundle resource.Bundle, cluster string, up map[string]bool) string {
	for _, one := range bundle.Clusters {
		if one.GetName() != cluster {
			continue
		}
		read, err := resource.ReadCluster(one)
		if err != nil {
			return err.Error()
		}
		members := read.Members
		if members == nil {
			members = []string{cluster}
		}
		for _, member := range members {
			if up[member] {
				return member
			}
		}
	}
	return "none"
}

// only is an Existence in which the subsets count whose services are up.
type only struct {
	config *dynamic.Environment
	up     map[string]bool
}

func (o only) Exists(subset int) bool { return o.up[o.config.Subsets[subset].Service] }

// TestReadySubsetsAnswer evaluates the routes of environment services that count only subsets that are ready.
func TestReadySubsetsAnswer(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		config, forms := randomOptions(random)
		config.Exists = dynamic.ExistsReady
		bundle, _, err := plain(config).translate("svc@file")
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		selector, err := environment.New(config)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			up := map[string]bool{config.Service: true}
			for _, one := range config.Subsets {
				up[one.Service] = random.IntN(2) == 0
			}
			header, want := randomRequest(random, config, forms), "none"
			choice := selector.Select(selector.Tag(header).Value, only{config, up})
			if choice.Subset != environment.NoSubset {
				want = config.Subsets[choice.Subset].Service
			} else if choice.Reason == environment.Any {
				want = config.Service
			}
			if got := firstOf(bundle, routed(t, bundle.Routes[0], header), up); got != want {
				t.Fatalf("seed %d: %v with %v leads to %s, want %s; options %+v", seed, header, up, got, want, config)
			}
		}
		if _, err := resource.ReadRoute(bundle.Routes[0]); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestPatternsThatAreNotPublished gives aliases patterns for which clients could find another tag than the router.
func TestPatternsThatAreNotPublished(t *testing.T) {
	config := &dynamic.Environment{Subsets: []dynamic.EnvironmentSubset{{Tag: "dev", Service: "a@file"}}}
	config.SetDefaults()
	for pattern, reason := range map[string]string{
		".*(@)":                    "lets text of a tag be next to the tag",
		"(@).*":                    "lets text of a tag be next to the tag",
		"env=(@)x?;":               "lets text of a tag be next to the tag",
		`\w*\b(@)`:                 "lets text of a tag be next to the tag",
		"(?i)K(@)":                 "lets text of a tag be next to the tag",
		"[^=]*(?:=|x)(@)":          "lets text of a tag be next to the tag",
		"env=(@)(?:;|(x|y))":       "lets text of a tag be next to the tag",
		"(?:env=(@);)?x":           "can match without the tag",
		"env=(@);|x":               "can match without the tag",
		"(?:env=(@);)+":            "can match without the tag or with several ones",
		"(?:env=(@);){2}":          "can match without the tag or with several ones",
		")(@)(":                    "is valid only within a group",
		"(?:;a?){900}env=(@);":     "is too large",
		"env=(@);":                 "",
		"(?i)[^a-z]*=(@)(?:;.*)?$": "",
		"^(@)$":                    "",
		"(?U).*[;,](@)(?s:[;,].*)": "",
	} {
		config.Aliases = []dynamic.EnvironmentAlias{{Name: "cookie", Pattern: pattern}}
		if _, err := environment.New(config); err != nil {
			t.Fatal(err)
		}
		_, _, err := services{"svc@file": {Environment: config}, "a@file": leaf()}.translate("svc@file")
		switch {
		case reason == "" && err != nil:
			t.Errorf("%s: %v", pattern, err)
		case reason != "" && (err == nil || !strings.Contains(err.Error(), reason)):
			t.Errorf("%s: the error is %v, expected %q", pattern, err, reason)
		}
	}
}
