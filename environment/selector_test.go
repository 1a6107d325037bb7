package environment_test

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
)

// all is an Existence in which every subset counts.
type all struct{}

func (all) Exists(int) bool { return true }

// only is an Existence in which the listed subsets count.
type only map[int]bool

func (o only) Exists(subset int) bool { return o[subset] }

// options returns the default options with the given tags as subsets.
func options(tags ...string) *dynamic.Environment {
	config := &dynamic.Environment{}
	config.SetDefaults()
	config.Default = "dev"
	for _, tag := range tags {
		config.Subsets = append(config.Subsets, dynamic.EnvironmentSubset{Tag: tag, Service: "s-" + tag})
	}
	return config
}

func selector(t testing.TB, config *dynamic.Environment) *environment.Selector {
	t.Helper()
	made, err := environment.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// chosen returns the tag of the subset that was selected, and the reason.
func chosen(config *dynamic.Environment, choice environment.Choice) string {
	if choice.Subset == environment.NoSubset {
		return string(choice.Reason)
	}
	return config.Subsets[choice.Subset].Tag + " " + string(choice.Reason)
}

func TestSelect(t *testing.T) {
	t.Parallel()
	tree := []string{"dev", "dev.proj1", "dev.proj1.feature1"}
	for _, test := range []struct {
		name   string
		change func(*dynamic.Environment)
		tag    string
		want   string
	}{
		{"exact", nil, "dev.proj1.feature1", "dev.proj1.feature1 exact"},
		{"nearest ancestor", nil, "dev.proj1.feature2", "dev.proj1 ancestor"},
		{"ancestor of a tag that exists nowhere", nil, "dev.proj1.a.b.c.d", "dev.proj1 ancestor"},
		{"a longer word is no child", nil, "dev.proj12", "dev ancestor"},
		{"a word with a dash is no child", nil, "dev.proj1-abc", "dev ancestor"},
		{"no relation", nil, "test.proj1", "dev default"},
		{"no tag", nil, "", "dev default"},
		{"capitals", nil, "DEV.PROJ1", "dev default"},
		{"two splitters", nil, "dev.proj1..x", "dev.proj1 ancestor"},
		{"trailing splitter", nil, "dev.proj1.", "dev.proj1 ancestor"},
		{"leading splitter", nil, ".dev.proj1", "dev default"},
		{"splitters alone", nil, "....", "dev default"},
		{"10 KB of levels", nil, "dev.proj1" + strings.Repeat(".a", 5000), "dev.proj1 ancestor"},
		{"10 KB of one level", nil, strings.Repeat("x", 10000), "dev default"},
		{"other splitter", func(e *dynamic.Environment) {
			e.Splitter = "-"
			e.Subsets = []dynamic.EnvironmentSubset{{Tag: "dev"}, {Tag: "dev-a.b"}}
		}, "dev-a.b-c", "dev-a.b ancestor"},
		{"reject", func(e *dynamic.Environment) { e.Fallback = dynamic.FallbackReject }, "test", "none"},
		{"reject, with an ancestor", func(e *dynamic.Environment) {
			e.Fallback = dynamic.FallbackReject
		}, "dev.x", "dev ancestor"},
		{"reject, no tag", func(e *dynamic.Environment) { e.Fallback = dynamic.FallbackReject }, "", "dev default"},
		{"any, with a default", func(e *dynamic.Environment) {
			e.Fallback, e.Service = dynamic.FallbackAny, "all"
		}, "test", "dev default"},
		{"any, no default", func(e *dynamic.Environment) {
			e.Fallback, e.Service, e.Default = dynamic.FallbackAny, "all", ""
		}, "test", "any"},
		{"any, default without a subset", func(e *dynamic.Environment) {
			e.Fallback, e.Service, e.Default = dynamic.FallbackAny, "all", "main"
		}, "", "any"},
		{"no default", func(e *dynamic.Environment) { e.Default = "" }, "test", "none"},
		{"strict, known elsewhere", func(e *dynamic.Environment) {
			e.Strict, e.Tags = true, []string{"dev.proj1.feature2"}
		}, "dev.proj1.feature2", "dev.proj1 ancestor"},
		{"strict, known nowhere", func(e *dynamic.Environment) { e.Strict = true }, "dev.proj1.feature2", "dev default"},
		{"strict, exact", func(e *dynamic.Environment) { e.Strict = true }, "dev.proj1", "dev.proj1 exact"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := options(tree...)
			if test.change != nil {
				test.change(config)
			}
			if got := chosen(config, selector(t, config).Select(test.tag, all{})); got != test.want {
				t.Errorf("%q is answered by %s, want %s", test.tag, got, test.want)
			}
		})
	}
}

// TestAbsentSubsets proves that a subset that does not count is passed over like one that is not declared.
func TestAbsentSubsets(t *testing.T) {
	t.Parallel()
	config := options("dev", "dev.a", "dev.a.b")
	s := selector(t, config)
	for _, test := range []struct {
		present only
		want    string
	}{
		{only{0: true, 1: true, 2: true}, "dev.a.b exact"},
		{only{0: true, 1: true}, "dev.a ancestor"},
		{only{0: true}, "dev ancestor"},
		{only{}, "none"},
	} {
		if got := chosen(config, s.Select("dev.a.b", test.present)); got != test.want {
			t.Errorf("with %v: %s, want %s", test.present, got, test.want)
		}
	}
}

// reference is the rule in its plainest form: the longest tag that is equal to the tag of the request, or that the tag
// of the request continues after a splitter.
func reference(config *dynamic.Environment, tag string) string {
	known := !config.Strict
	for _, one := range config.Tags {
		known = known || one == tag
	}
	best := ""
	for _, subset := range config.Subsets {
		known = known || subset.Tag == tag
		if (tag == subset.Tag || strings.HasPrefix(tag, subset.Tag+config.Splitter)) && len(subset.Tag) > len(best) {
			best = subset.Tag
		}
	}
	switch {
	case tag != "" && known && best == tag:
		return best + " exact"
	case tag != "" && known && best != "":
		return best + " ancestor"
	case tag != "" && config.Fallback == dynamic.FallbackReject:
		return "none"
	}
	for _, subset := range config.Subsets {
		if subset.Tag == config.Default {
			return config.Default + " default"
		}
	}
	if config.Fallback == dynamic.FallbackAny {
		return "any"
	}
	return "none"
}

// randomTag returns a tag of few different words, so that tags meet.
func randomTag(random *rand.Rand, splitter string) string {
	words := []string{"dev", "a", "b", "ab", "a-b", "", "a" + splitter}
	levels := make([]string, 1+random.IntN(5))
	for i := range levels {
		levels[i] = words[random.IntN(len(words))]
	}
	return strings.Join(levels, splitter)
}

func TestSelectEqualsTheReference(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		config := options()
		config.Splitter = []string{".", "-", "_"}[random.IntN(3)]
		config.Fallback = []string{"default", "any", "reject"}[random.IntN(3)]
		config.Service, config.Strict = "all", random.IntN(2) == 0
		seen := map[string]bool{}
		for range random.IntN(8) {
			tag := strings.Trim(randomTag(random, config.Splitter), config.Splitter)
			if tag != "" && !seen[tag] {
				seen[tag] = true
				config.Subsets = append(config.Subsets, dynamic.EnvironmentSubset{Tag: tag})
			}
		}
		for range random.IntN(4) {
			config.Tags = append(config.Tags, randomTag(random, config.Splitter))
		}
		s := selector(t, config)
		for range 20 {
			tag := randomTag(random, config.Splitter)
			if got, want := chosen(config, s.Select(tag, all{})), reference(config, tag); got != want {
				t.Fatalf("seed %d: %q is answered by %s, want %s; options %+v", seed, tag, got, want, config)
			}
		}
	}
}

func TestTag(t *testing.T) {
	t.Parallel()
	config := options("dev")
	config.Aliases = []dynamic.EnvironmentAlias{
		{Name: "cookie", Pattern: ".*env=(@);.*"},
		{Name: "x-branch"},
		{Name: "baggage", Pattern: "(?:.*,)? *virtual-env=<tag>(?:[;,].*)?", Placeholder: "<tag>"},
		{Name: "x-optional", Pattern: "(?:env=(@);)?x"},
	}
	s := selector(t, config)
	for _, test := range []struct {
		name   string
		header http.Header
		want   environment.Tag
	}{
		{"nothing", http.Header{}, environment.Tag{}},
		{"the header", http.Header{"X-Virtual-Env": {"dev.a"}}, environment.Tag{Value: "dev.a"}},
		{"the header twice", http.Header{"X-Virtual-Env": {"dev.a", "dev.b"}}, environment.Tag{Value: "dev.a"}},
		{"header and alias", http.Header{"X-Virtual-Env": {"dev.a"}, "X-Branch": {"dev.b"}}, environment.Tag{Value: "dev.a"}},
		{"an empty header is no tag", http.Header{"X-Virtual-Env": {""}, "X-Branch": {"dev.b"}}, environment.Tag{}},
		{"whole value", http.Header{"X-Branch": {"dev.b"}}, environment.Tag{Value: "dev.b", Aliased: true}},
		{"cookie", http.Header{"Cookie": {"a=1; env=dev.c; b=2"}}, environment.Tag{Value: "dev.c", Aliased: true}},
		{"cookie that does not match", http.Header{"Cookie": {"a=1; env=dev.c"}}, environment.Tag{}},
		{"a dot is not any character", http.Header{"Cookie": {"env=dev/c;"}}, environment.Tag{}},
		{
			"first alias wins",
			http.Header{"Cookie": {"env=dev.c;"}, "X-Branch": {"dev.b"}},
			environment.Tag{Value: "dev.c", Aliased: true},
		},
		{
			"next alias after one without a tag",
			http.Header{"Cookie": {"a=1"}, "X-Branch": {"dev.b"}},
			environment.Tag{Value: "dev.b", Aliased: true},
		},
		{"the placeholder is left out", http.Header{"X-Optional": {"x"}}, environment.Tag{}},
		{"an optional placeholder", http.Header{"X-Optional": {"env=a;x"}}, environment.Tag{Value: "a", Aliased: true}},
		{
			"baggage",
			http.Header{"Baggage": {"user=7, virtual-env=dev.d;ttl=1,x=y"}},
			environment.Tag{Value: "dev.d", Aliased: true},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := s.Tag(test.header); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*dynamic.Environment){
		`header "" is not the name of a header`:  func(e *dynamic.Environment) { e.Header = "" },
		`header "a b" is not the name`:           func(e *dynamic.Environment) { e.Header = "a b" },
		`splitter ".." is not one visible`:       func(e *dynamic.Environment) { e.Splitter = ".." },
		`splitter "" is not one visible`:         func(e *dynamic.Environment) { e.Splitter = "" },
		`splitter "," is not one visible`:        func(e *dynamic.Environment) { e.Splitter = "," },
		`fallback "all" is none of`:              func(e *dynamic.Environment) { e.Fallback = "all" },
		`exists "yes" is none of`:                func(e *dynamic.Environment) { e.Exists = "yes" },
		`service is empty, and the fallback any`: func(e *dynamic.Environment) { e.Fallback = "any" },
		`subsets[1].tag "dev" is that of`:        func(e *dynamic.Environment) { e.Subsets[1].Tag = "dev" },
		`subsets[1].tag is empty`:                func(e *dynamic.Environment) { e.Subsets[1].Tag = "" },
		`subsets[1].tag "dev." ends with the`:    func(e *dynamic.Environment) { e.Subsets[1].Tag = "dev." },
		`subsets[1].tag "a,b" cannot be`:         func(e *dynamic.Environment) { e.Subsets[1].Tag = "a,b" },
		`subsets[1].tag has 254 bytes`: func(e *dynamic.Environment) {
			e.Subsets[1].Tag = strings.Repeat("a", 254)
		},
		`aliases[0].name "" is not the name`:         alias("", ""),
		`aliases[0].pattern "x" does not have`:       alias("cookie", "x"),
		`aliases[0].pattern "(@)(@)" has the`:        alias("cookie", "(@)(@)"),
		`aliases[0].pattern "(@)[": missing closing`: alias("cookie", "(@)["),
		`aliases[0].pattern "\\Qe(@)\\E" has the`:    alias("cookie", `\Qe(@)\E`),
	} {
		config := options("dev", "dev.a")
		change(config)
		if _, err := environment.New(config); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// alias returns a change that adds an alias.
func alias(name, pattern string) func(*dynamic.Environment) {
	return func(e *dynamic.Environment) { e.Aliases = []dynamic.EnvironmentAlias{{Name: name, Pattern: pattern}} }
}

func FuzzAlias(f *testing.F) {
	f.Add(".*env=(@);.*", "(@)", "env=dev.a;")
	f.Add("(?:.*,)? *virtual-env=(@)(?:[;,].*)?", "", "virtual-env=a")
	f.Add("(?P<sluicetag>(@))", "(@)", "a")
	f.Add(")(@)(", "(@)", "a")
	f.Add("(?:(@);)?x", "(@)", "x")
	f.Fuzz(func(t *testing.T, pattern, placeholder, value string) {
		config := options("dev")
		config.Aliases = []dynamic.EnvironmentAlias{{Name: "X-Alias", Pattern: pattern, Placeholder: placeholder}}
		s, err := environment.New(config)
		if err != nil {
			return
		}
		if tag := s.Tag(http.Header{"X-Alias": {value}}); !strings.Contains(value, tag.Value) {
			t.Errorf("tag %q is no part of %q", tag.Value, value)
		}
	})
}

func TestSelectingDoesNotAllocate(t *testing.T) {
	config := options("dev", "dev.a", "dev.a.b", "dev.a.b.c")
	s := selector(t, config)
	header := http.Header{"X-Virtual-Env": {"dev.a.b.x.y"}}
	if count := testing.AllocsPerRun(100, func() { s.Select(s.Tag(header).Value, all{}) }); count != 0 {
		t.Errorf("%v allocations", count)
	}
}
